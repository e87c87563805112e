from __future__ import annotations

import numpy as np
import pytest
from deconvolution_cases import ORIGIN_US, jittered_ends, layer_cycles, own_end_timeline
from hypothesis import given
from hypothesis import strategies as st

from edgewatt.formats.run_info import RunInfo
from edgewatt.mapping.timeline import lay_out, spaced, stamps_of

RUNTIME_S = np.array([100e-6, 250e-6, 50e-6])


def _reported_after(cycles: int, seed: int = 0, delay_s: tuple[float, float] = (20e-6, 60e-6)):  # type: ignore[no-untyped-def]
    random = np.random.default_rng(seed)
    start, end = jittered_ends(RUNTIME_S, cycles, 1e-3, random)
    first = end[:, -1:] + random.uniform(*delay_s, (cycles, 1))
    return start, end, first + np.arange(3) * 4e-6


def test_stamps_at_own_ends_are_told_from_reports_after_the_inference() -> None:
    start, end, stamp = _reported_after(50)
    assert stamps_of(layer_cycles(start, end, end)) == "own ends"
    assert stamps_of(layer_cycles(start, end, stamp)) == "after the inference"


def test_layers_stamped_at_own_ends_are_taken_at_their_word() -> None:
    start, end, _ = _reported_after(50)
    timeline = own_end_timeline(start, end)
    np.testing.assert_allclose(timeline.start_s, start, atol=1e-6)
    np.testing.assert_allclose(timeline.end_s, end, atol=1e-6)


def test_reported_layers_are_laid_out_back_from_the_end_of_their_cycle() -> None:
    start, end, stamp = _reported_after(50, delay_s=(30e-6, 30e-6))
    timeline = lay_out(layer_cycles(start, end, stamp), None, ORIGIN_US)
    # The delay that all cycles share cannot be known here: everything is late by it.
    np.testing.assert_allclose(timeline.start_s - 30e-6, start, atol=2e-6)
    np.testing.assert_allclose(timeline.end_s - 30e-6, end, atol=2e-6)
    assert timeline.stamps == "after the inference"
    assert timeline.dropped_cycles == 0


def test_layers_are_ordered_by_their_stamps() -> None:
    start, end, stamp = _reported_after(20)
    turned = [2, 0, 1]
    timeline = lay_out(layer_cycles(start[:, turned], end[:, turned], stamp[:, turned]), None, ORIGIN_US)
    assert [turned[index] for index in timeline.order] == [0, 1, 2]
    lengths = timeline.end_s - timeline.start_s
    np.testing.assert_allclose(lengths, end - start, atol=1e-9)


def test_known_starts_of_cycles_halve_the_spread_of_their_times() -> None:
    random = np.random.default_rng(1)
    start, end, stamp = _reported_after(2000)
    calls = start[:, 0] - random.uniform(10e-6, 50e-6, len(start))
    run = RunInfo(model="net", board="b", cycle_start_us=(np.floor(calls * 1e6).astype(int) + ORIGIN_US).tolist())
    layers = layer_cycles(start, end, stamp)
    spreads = [float(np.std(lay_out(layers, known, ORIGIN_US).cycle_end_s - end[:, -1])) for known in (None, run)]
    # Two independent uniform delays of 40 us: 11.5 us alone, 11.5 / sqrt(2) for their mean.
    assert spreads[0] == pytest.approx(11.5e-6, rel=0.05)
    assert spreads[1] == pytest.approx(11.5e-6 / np.sqrt(2), rel=0.1)


def test_a_stall_begins_where_a_gap_is_longer_than_usual() -> None:
    start, end, _ = _reported_after(50)
    start[25:] += 0.02
    end[25:] += 0.02
    timeline = own_end_timeline(start, end)
    stalls = timeline.cycle_start_s - timeline.stall_start_s
    assert np.flatnonzero(stalls > 1e-9).tolist() == [25]
    assert stalls[25] == pytest.approx(0.02 + (start[25, 0] - 0.02 - end[24, -1]) - 5 * timeline.usual_gap_s, abs=1e-5)


def test_cycles_that_run_into_those_before_are_left_out() -> None:
    start, end, _ = _reported_after(50)
    start[30], end[30] = start[29] + 10e-6, end[29] + 10e-6
    timeline = own_end_timeline(start, end)
    assert timeline.dropped_cycles == 1
    assert len(timeline.start_s) == 49


@given(st.floats(0.0, 5e-6))
def test_pauses_move_layers_away_from_the_end(pause_s: float) -> None:
    start, end, stamp = _reported_after(5)
    timeline = lay_out(layer_cycles(start, end, stamp), None, ORIGIN_US)
    with_pauses = spaced(timeline, pause_s)
    np.testing.assert_allclose(with_pauses.end_s[:, -1], timeline.end_s[:, -1])
    np.testing.assert_allclose(timeline.start_s - with_pauses.start_s, [[2 * pause_s, pause_s, 0.0]] * 5, atol=1e-12)
