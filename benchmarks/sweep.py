"""What an adaptive sweep saves: errors on layers of unseen architectures after so many layers, drawn and picked.

The ways are: layers that fill the space (designed); the default sweep, half of them and half of the layers of other
architectures (drawn); and the adaptive sweep: without knowing that there are such architectures (picked blindly), as
one that knows the shapes of their layers, as it does of all shipped architectures, and has measured none of them
(picked), and as one that is aimed at them (aimed).

On the simulated board, whose truth is known: a layer's power and runtime are the truth, off by as much as repeated
measurements of it are (--noise), so that a sweep of hundreds of layers takes seconds. The architectures that are
tested on are unknown to the sweep: layers that they have are not drawn from others either.

    python benchmarks/sweep.py
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console

from edgewatt.dataset.features import feature_frame
from edgewatt.formats.layer_power import LayerPower
from edgewatt.networks.architectures import architecture_names, network_layers
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.physics_predictor import PhysicsPredictor
from edgewatt.predictors.targets import Target, target_values
from edgewatt.reports.tables import new_table, percent
from edgewatt.simulation.board import ORIN_NANO
from edgewatt.simulation.roofline import layer_truth
from edgewatt.sweep.adaptive import DRAWN_SHARE, Picker
from edgewatt.sweep.limits import SIMULATED_MEMORY_BYTES, Limits
from edgewatt.sweep.sequence import KIND_SHARES, Candidate, after, sweep_sequence
from edgewatt.sweep.shipped import layers_of_networks
from edgewatt.sweep.single import SingleLayer
from edgewatt.sweep.tables import swept_tables

TEST = ("resnet50", "mobilenet_v3_large", "squeezenet1_1", "vgg16", "densenet121", "efficientnet_b0", "googlenet")
PRECISION = "float16"
KINDS = tuple(KIND_SHARES)
FIRST, BATCH = 60, 20


@dataclass
class Simulated:
    """What is measured of layers on the simulated board."""

    noise: float
    random: np.random.Generator
    layers: list[Layer]
    measured: dict[str, LayerPower]

    def measure(self, candidates: Iterable[Candidate]) -> None:
        """Measure more layers."""
        new = [c.layer.layer(f"{len(self.layers) + i}", PRECISION) for i, c in enumerate(candidates)]
        runtime_s, above_w = layer_truth(new, ORIN_NANO)
        factors = np.exp(self.noise * self.random.standard_normal((2, len(new))))
        for layer, ms, watts in zip(new, runtime_s * 1e3 * factors[0], above_w * factors[1], strict=True):
            row = LayerPower(layer.name, "", float(ms), None, float(watts), None, None, None, 100, True)
            self.layers.append(layer)
            self.measured[layer.name] = row

    def tables(self) -> dict[LayerKind, pl.DataFrame]:
        """It as training tables."""
        return swept_tables(self.layers, self.measured, "sweep@seed0")


def test_layers() -> list[Layer]:
    """The different layers of the architectures that are tested on."""
    seen: dict[object, Layer] = {}
    for name in TEST:
        for layer in network_layers(name, precision=PRECISION):
            if layer.kind in KINDS:
                seen.setdefault(
                    (layer.operation, layer.input_shape, layer.output_shape, layer.kernel, layer.stride), layer
                )
    return [layer for layer in seen.values() if layer_truth([layer], ORIN_NANO)[0][0] > 0]


def errors(tables: dict[LayerKind, pl.DataFrame], test: Sequence[Layer]) -> dict[Target, float]:
    """MAPE of each target over the test layers of all kinds."""
    found: dict[Target, list[float]] = {target: [] for target in Target}
    for kind in KINDS:
        layers = [layer for layer in test if layer.kind is kind]
        truth = dict(zip((Target.RUNTIME, Target.POWER), layer_truth(layers, ORIN_NANO), strict=True))
        for target in Target:
            y = target_values(tables[kind], target)
            function = PhysicsPredictor(kind, target).fit(tables[kind], y, None, tables).function_
            true = truth[target] * (1e3 if target is Target.RUNTIME else 1.0)
            found[target] += (np.abs(function.predict(feature_frame(kind, layers)) / true - 1)).tolist()
    return {target: float(np.mean(values)) for target, values in found.items()}


def drawn(seed: int, counts: Sequence[int], test: Sequence[Layer], noise: float) -> dict[int, dict[Target, float]]:
    """Errors after so many drawn layers."""
    board = Simulated(noise, np.random.default_rng([seed, 1]), [], {})
    sequence = sweep_sequence(KINDS, Limits(SIMULATED_MEMORY_BYTES), seed, leave_out=TEST)
    result = {}
    for count in sorted(counts):
        board.measure(islice(sequence, count - len(board.layers)))
        result[count] = errors(board.tables(), test)
    return result


def designed(seed: int, counts: Sequence[int], test: Sequence[Layer], noise: float) -> dict[int, dict[Target, float]]:
    """Errors after so many layers that fill the space, none of an architecture."""
    board = Simulated(noise, np.random.default_rng([seed, 1]), [], {})
    sequence = sweep_sequence(KINDS, Limits(SIMULATED_MEMORY_BYTES), seed, leave_out=architecture_names())
    result = {}
    for count in sorted(counts):
        board.measure(islice(sequence, count - len(board.layers)))
        result[count] = errors(board.tables(), test)
    return result


def picked(
    seed: int,
    counts: Sequence[int],
    test: Sequence[Layer],
    noise: float,
    *,
    unknown: tuple[str, ...] = (),
    aims: tuple[SingleLayer, ...] = (),
) -> dict[int, dict[Target, float]]:
    """Errors after so many layers of an adaptive sweep; `unknown` and `aims` as for its picker."""
    board = Simulated(noise, np.random.default_rng([seed, 1]), [], {})
    limits, known = Limits(SIMULATED_MEMORY_BYTES), set[SingleLayer]()
    sequence = after(sweep_sequence(KINDS, limits, seed, leave_out=TEST), known)
    picker = Picker(KINDS, limits, seed, PRECISION, TEST, unknown, aims)
    board.measure(islice(sequence, FIRST))
    result = {}
    for count in sorted(counts):
        while len(board.layers) < count:
            size = min(BATCH, count - len(board.layers))
            plain = round(DRAWN_SHARE * size)
            found = picker.pick(board.tables(), size - plain, known)
            known |= {candidate.layer.without_details() for candidate in found}
            board.measure([*found, *islice(sequence, plain)])
        result[count] = errors(board.tables(), test)
    return result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=10)
    parser.add_argument("--counts", default="250,300,400,500")
    parser.add_argument("--adaptive-counts", default="150,200,250,300,350")
    parser.add_argument("--noise", type=float, default=0.005)
    parser.add_argument("--out", type=Path, help="write the numbers here, too, as CSV")
    given = parser.parse_args()
    test = test_layers()
    rows = []
    for seed in range(given.first_seed, given.first_seed + given.seeds):
        for way, measure, counts in (
            ("designed", designed, given.counts),
            ("drawn", drawn, given.counts),
            ("picked blindly", partial(picked, unknown=TEST), given.adaptive_counts),
            ("picked", picked, given.adaptive_counts),
            ("aimed", partial(picked, aims=layers_of_networks(TEST)), given.adaptive_counts),
        ):
            for count, found in measure(seed, [int(c) for c in counts.split(",")], test, given.noise).items():
                rows.append({"seed": seed, "way": way, "layers": count} | {t.value: e for t, e in found.items()})
    table = pl.DataFrame(rows)
    if given.out:
        table.write_csv(given.out)
    shown = new_table(
        f"MAPE on {len(test)} layers of {len(TEST)} unseen architectures, mean (least to most) of {given.seeds} seeds",
        ["way"],
        ["layers", "power", "runtime"],
    )
    for (way, count), part in table.group_by("way", "layers", maintain_order=True):
        cells = [_mean_and_range(part[target].to_numpy()) for target in ("power", "runtime")]
        shown.add_row(str(way), str(count), *cells)
    Console(width=120).print(shown)


def _mean_and_range(values: NDArray[np.float64]) -> str:
    mean, least, most = (percent(float(value), 2) for value in (values.mean(), values.min(), values.max()))
    return f"{mean} ({least} to {most})"


if __name__ == "__main__":
    main()
