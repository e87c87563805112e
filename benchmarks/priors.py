"""Calibrate the boards' priors on published results, and print their errors on results that they did not see.

    python benchmarks/priors.py [--write] [--markdown]

`--write` replaces the calibration that ships with the package; `--markdown` prints docs/priors.md's table of results.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from math import exp

import numpy as np
from rich.console import Console
from rich.table import Table

from densenets import PUBLISHED, densenet
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.onnx_layers import layers_from_onnx
from edgewatt.predictors.prior import CALIBRATION_FILE, PriorCalibration, write_calibration
from edgewatt.predictors.prior_calibration import (
    LayersOf,
    PriorError,
    calibrate,
    compare,
    covering_factor,
    group_errors,
    leave_out,
)
from edgewatt.predictors.published import PublishedResult, read_published_results, split_results
from edgewatt.reports.tables import new_table, number

_DENSENETS = {(name, "float16", 1) for name in PUBLISHED}


def layers_of(results: Sequence[PublishedResult]) -> LayersOf:
    """Layers of every network that results name."""
    keys = {(result.network, result.precision, result.batch) for result in results}
    shipped = {key: network_layers(key[0], batch=key[2], precision=key[1]) for key in sorted(keys - _DENSENETS)}
    built = {key: layers_from_onnx(densenet(*PUBLISHED[key[0]][:2]), precision=key[1]) for key in sorted(_DENSENETS)}
    return {**shipped, **built}


def densenet_results(results: Sequence[PublishedResult]) -> list[PublishedResult]:
    """The published results of networks that do not ship; all of them are tests."""
    known = next(result for result in results if result.network == "densenet121")
    return [
        replace(known, network=name, runtime_ms=1e3 / images_per_s, use="test")
        for name, (_, _, images_per_s) in PUBLISHED.items()
    ]


def evaluate(results: Sequence[PublishedResult]) -> tuple[PriorCalibration, dict[str, list[PriorError]]]:
    """Calibrate, and compare with every result.

    Returns:
        The calibration, and the errors on what it was calibrated on, on the test, and with each board, network and
        publisher left out.
    """
    layers = layers_of(results)
    calibration, test = split_results(results)
    parameters = calibrate(calibration, layers)
    errors = {
        "calibrated on": [compare(result, layers, parameters) for result in calibration],
        "test": [compare(result, layers, parameters) for result in test],
        "board left out": leave_out(results, layers, lambda result: result.board),
        "network left out": leave_out(results, layers, lambda result: result.network),
        "publisher left out": leave_out(results, layers, lambda result: result.publisher),
    }
    unseen = [group_errors(part) for name, part in errors.items() if name != "calibrated on"]
    known = PriorCalibration(
        parameters,
        runtime_factor=max(covering_factor(found.runtime) for found in unseen),
        power_factor=max(covering_factor(found.power) for found in unseen if found.power),
        calibration_results=len({result.group for result in calibration}),
        test_results=len({result.group for result in test}),
    )
    return known, errors


def points_table(title: str, errors: Sequence[PriorError]) -> Table:
    """Every result beside the prior's prediction."""
    table = new_table(
        title, ["board", "network", "precision", "mode"], ["batch", "ms", "prior", "factor", "mJ", "prior", "factor"]
    )
    for error in errors:
        result = error.result
        energy = error.energy_log_error
        table.add_row(
            result.board,
            result.network,
            result.precision,
            result.power_mode,
            str(result.batch),
            number(result.runtime_ms),
            number(error.runtime_s * 1e3),
            number(exp(error.runtime_log_error)),
            "" if result.energy_j is None else number(result.energy_j * 1e3, 1),
            "" if error.energy_j is None else number(error.energy_j * 1e3, 1),
            "" if energy is None else number(exp(energy)),
        )
    return table


def markdown_table(errors: dict[str, list[PriorError]]) -> str:
    """The results that were calibrated on and those of the test, as the table of docs/priors.md."""
    lines = [
        "| | board | network | type, batch | mode | ms | prior | factor | mJ | prior | factor |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in ("calibrated on", "test"):
        for error in errors[name]:
            result, energy = error.result, error.energy_log_error
            cells = [
                "test" if name == "test" else "",
                result.board,
                result.network,
                f"{result.precision}, {result.batch}",
                result.power_mode,
                f"{result.runtime_ms:.3g}",
                f"{error.runtime_s * 1e3:.3g}",
                f"{exp(error.runtime_log_error):.2f}",
                "" if result.energy_j is None else f"{result.energy_j * 1e3:.3g}",
                "" if error.energy_j is None else f"{error.energy_j * 1e3:.3g}",
                "" if energy is None else f"{exp(energy):.2f}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def factors_table(errors: dict[str, list[PriorError]]) -> Table:
    """How far the prior is from published results, by group of results."""
    table = new_table(
        "Error factors by group of results",
        ["results"],
        ["groups", "median", "90 %", "largest", "with power", "median", "90 %", "largest"],
    )
    for name, of_part in errors.items():
        found = group_errors(of_part)
        table.add_row(name, *_factors(found.runtime), *_factors(found.energy))
    return table


def _factors(logs: Sequence[float]) -> list[str]:
    sizes = np.abs(logs)
    values = (float(np.exp(np.median(sizes))), covering_factor(logs), float(np.exp(sizes.max())))
    return [str(len(logs)), *(number(value) for value in values)]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the calibration that ships with the package")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/priors.md")
    arguments = parser.parse_args()
    results = read_published_results()
    known, errors = evaluate([*results, *densenet_results(results)])
    if arguments.markdown:
        print(markdown_table(errors))
        return
    console = Console(width=130)
    for name, of_part in errors.items():
        console.print(points_table(f"Published and predicted: {name}", of_part))
    console.print(factors_table(errors))
    console.print(f"Parameters: {known.parameters}")
    console.print(
        f"Interval factors: runtime {known.runtime_factor:.3f}, power {known.power_factor:.3f}, "
        f"energy {known.energy_factor:.3f}"
    )
    if arguments.write:
        write_calibration(CALIBRATION_FILE, known)
        console.print(f"Written to {CALIBRATION_FILE}")


if __name__ == "__main__":
    main()
