"""Calibration of the priors on published results, and their errors on results that they were not calibrated on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from edgewatt.networks.layer import Layer
from edgewatt.predictors.prior_model import PriorParameters, energies_above_idle_j, runtimes_s
from edgewatt.predictors.published import PublishedResult

#: Where the calibration starts, and what it stays near where few results tell: usual values for such hardware.
START = PriorParameters(
    ampere_launch_s=5e-6,
    volta_launch_s=10e-6,
    tensor_efficiency=0.5,
    fill_s=4e-6,
    cuda_efficiency=0.25,
    bandwidth_efficiency=0.7,
    active_sm_w=0.3,
    int8_mac_j=1.5e-12,
)
#: How far a parameter may stray from its start by one standard deviation of the results' own error, as a factor.
_STRAY = np.log(2.0)
#: Standard deviation that one result's logarithm is taken to have.
_RESULT_ERROR = np.log(1.15)

#: Layers of each network that results name, by network, precision and batch.
LayersOf = Mapping[tuple[str, str, int], Sequence[Layer]]


@dataclass(frozen=True)
class PriorError:
    """One published result beside what a prior says of it.

    Attributes:
        result: The result.
        runtime_s: The prior's runtime of one cycle.
        energy_j: The prior's energy of one cycle, at the place where the result's power was measured; None where the
            result has no power.
    """

    result: PublishedResult
    runtime_s: float
    energy_j: float | None

    @property
    def power_log_error(self) -> float | None:
        """Logarithm of predicted over published mean power; None where none was published."""
        energy = self.energy_log_error
        return None if energy is None else energy - self.runtime_log_error

    @property
    def runtime_log_error(self) -> float:
        """Logarithm of predicted over published."""
        return float(np.log(self.runtime_s / (self.result.runtime_ms * 1e-3)))

    @property
    def energy_log_error(self) -> float | None:
        """Logarithm of predicted over published; None where no power was published."""
        published = self.result.energy_j
        return None if published is None or self.energy_j is None else float(np.log(self.energy_j / published))


@dataclass(frozen=True)
class GroupErrors:
    """Logarithms of predicted over published, one for each group of results (the mean of its results').

    Attributes:
        runtime: Of the runtime.
        energy: Of the energy; groups without a published power have none.
        power: Of the mean power; the same groups.
    """

    runtime: list[float]
    energy: list[float]
    power: list[float]


def group_errors(errors: Sequence[PriorError]) -> GroupErrors:
    """Errors by group, so that a board that many measured counts no more than others."""
    groups: dict[tuple[str, str, str, int, float], list[PriorError]] = {}
    for error in errors:
        groups.setdefault(error.result.group, []).append(error)
    found = GroupErrors([], [], [])
    for members in groups.values():
        found.runtime.append(float(np.mean([error.runtime_log_error for error in members])))
        energies = [error.energy_log_error for error in members]
        powers = [error.power_log_error for error in members]
        known = [(e, p) for e, p in zip(energies, powers, strict=True) if e is not None and p is not None]
        if known:
            found.energy.append(float(np.mean([energy for energy, _ in known])))
            found.power.append(float(np.mean([power for _, power in known])))
    return found


def calibrate(results: Sequence[PublishedResult], layers_of: LayersOf) -> PriorParameters:
    """Fit the parameters to the logarithms of published runtimes and energies.

    Every group of results counts once, however many results it holds.

    Args:
        results: What to calibrate on.
        layers_of: Layers of the networks that they name.
    """
    start = np.log(np.array(astuple(START), dtype=np.float64))
    counts = {group: sum(other.group == group for other in results) for group in {r.group for r in results}}
    weights = [1.0 / np.sqrt(counts[result.group]) for result in results]

    def residuals(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        parameters = _parameters(logs)
        values = [*((logs - start) / _STRAY)]
        for result, weight in zip(results, weights, strict=True):
            error = compare(result, layers_of, parameters)
            values.append(weight * error.runtime_log_error / _RESULT_ERROR)
            if (energy_error := error.energy_log_error) is not None:
                values.append(weight * energy_error / _RESULT_ERROR)
        return np.array(values)

    return _parameters(least_squares(residuals, start, loss="soft_l1", max_nfev=60).x)


def compare(result: PublishedResult, layers_of: LayersOf, parameters: PriorParameters) -> PriorError:
    """What a prior with these parameters says of a published result."""
    layers = layers_of[result.network, result.precision, result.batch]
    board = result.figures
    times = runtimes_s(layers, board, parameters, result.clocks)
    runtime_s = float(times.sum())
    if result.power_w is None:
        return PriorError(result, runtime_s, None)
    above_idle_j = float(energies_above_idle_j(layers, times, board, parameters, result.clocks).sum())
    module_w = result.idle_module_w + above_idle_j / runtime_s
    return PriorError(result, runtime_s, board.at_the_wall_w(module_w) * runtime_s)


def leave_out(
    results: Sequence[PublishedResult], layers_of: LayersOf, part_of: Callable[[PublishedResult], str]
) -> list[PriorError]:
    """Errors on every result, with parameters that no result of the same part was used for.

    Args:
        results: The results.
        layers_of: Layers of the networks that they name.
        part_of: What is left out together: a result's board, network or publisher.
    """
    errors: list[PriorError] = []
    for part in sorted({part_of(result) for result in results}):
        parameters = calibrate([result for result in results if part_of(result) != part], layers_of)
        errors += [compare(result, layers_of, parameters) for result in results if part_of(result) == part]
    return errors


def covering_factor(log_errors: Sequence[float], share: float = 0.9) -> float:
    """The factor f so that the next error lies between 1/f and f with at least this probability.

    It is the conformal quantile of the errors' sizes (V. Vovk et al., Algorithmic Learning in a Random World, 2005): of
    n errors the ceil((n + 1) share)-th in size, or the largest where there are too few.

    Args:
        log_errors: Logarithms of predicted over published.
        share: The probability.

    Raises:
        ValueError: There are no errors.
    """
    ordered = sorted(abs(error) for error in log_errors)
    if not ordered:
        raise ValueError("no errors")
    return float(np.exp(ordered[min(int(np.ceil(share * (len(ordered) + 1))), len(ordered)) - 1]))


def _parameters(logs: NDArray[np.float64]) -> PriorParameters:
    return PriorParameters(**dict(zip((f.name for f in fields(PriorParameters)), np.exp(logs).tolist(), strict=True)))
