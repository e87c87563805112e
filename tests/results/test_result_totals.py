"""Totals of several networks are all of the same thing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgewatt.networks.layer import LayerKind
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import LayerResult, NetworkResult, Source
from edgewatt.results.totals import LAYERS, RUN, WHOLE, common_totals

_LAYER = LayerResult(
    "a",
    LayerKind.DENSE,
    "gemm",
    runtime_s=Estimate(1e-3),
    power_w=Estimate(8.0),
    energy_j=Estimate(8e-3, 7e-3, 9e-3),
    energy_above_idle_j=Estimate(4e-3),
)
SUMS = NetworkResult("a", Source.MAPPED, Path("a"), (_LAYER, _LAYER), run_energy_j=Estimate(20e-3))
CALIBRATED = replace(SUMS, runtime_s=Estimate(3e-3), energy_j=Estimate(21e-3), power_w=Estimate(7.0))
POWERLESS = NetworkResult("b", Source.RECORDING, Path("b"), (), run_energy_j=Estimate(30e-3))


def test_whole_cycles_where_all_know_them() -> None:
    assert [total.of for total in common_totals([CALIBRATED, CALIBRATED])] == [WHOLE, WHOLE]


def test_sums_of_layers_where_one_knows_no_more() -> None:
    first, second = common_totals([CALIBRATED, SUMS])
    assert first == second
    assert first.of == LAYERS
    assert first.energy_j == Estimate(16e-3, 14e-3, 18e-3)
    assert first.power_w is not None
    # 16 mJ over 2 ms.
    assert first.power_w.value == pytest.approx(8.0)


def test_whole_runs_where_one_has_no_powers_of_layers() -> None:
    first, second = common_totals([SUMS, POWERLESS])
    assert (first.of, first.energy_j, second.energy_j) == (RUN, Estimate(20e-3), Estimate(30e-3))


def test_above_idle() -> None:
    (total,) = common_totals([CALIBRATED], with_idle=False)
    assert (total.of, total.with_idle, total.energy_j) == (LAYERS, False, Estimate(8e-3))
