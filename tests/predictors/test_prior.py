"""The boards' priors: physics, calibration, and what is said of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from edgewatt.errors import EdgewattError
from edgewatt.networks.architectures import architecture_names, network_layers
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.board_figures import AMPERE, BOARD_FIGURES, VOLTA, find_board_figures
from edgewatt.predictors.network_prediction import Status
from edgewatt.predictors.prior import (
    PriorCalibration,
    board_names,
    is_prior,
    prior_prediction,
    read_calibration,
    write_calibration,
)
from edgewatt.predictors.prior_calibration import (
    START,
    PriorError,
    calibrate,
    compare,
    covering_factor,
    group_errors,
    leave_out,
)
from edgewatt.predictors.prior_model import Clocks, PriorParameters, energies_above_idle_j, runtimes_s
from edgewatt.predictors.published import PublishedResult, read_published_results, split_results

PARAMETERS = PriorParameters(
    ampere_launch_s=3e-6,
    volta_launch_s=20e-6,
    tensor_efficiency=0.5,
    fill_s=4e-6,
    cuda_efficiency=0.25,
    bandwidth_efficiency=0.8,
    active_sm_w=0.25,
    int8_mac_j=1e-12,
)
NANO = BOARD_FIGURES["orin-nano"]


def convolution(channels: int = 64, precision: str = "float16", **changes: object) -> Layer:
    """A 3 x 3 convolution of 32 x 32 points that keeps its channels."""
    shape, size = (1, channels, 32, 32), {"int8": 1, "float16": 2}.get(precision, 4)
    layer = Layer(
        name="c",
        kind=LayerKind.CONVOLUTIONAL,
        operation="convolution",
        input_shape=shape,
        output_shape=shape,
        kernel=(3, 3),
        precision=precision,
        macs=channels * 1024 * channels * 9,
        weight_bytes=channels * channels * 9 * size,
        input_bytes=channels * 1024 * size,
        output_bytes=channels * 1024 * size,
    )
    return replace(layer, **changes)  # type: ignore[arg-type]


def test_runtime_of_a_compute_bound_layer() -> None:
    layer = convolution(256)
    # 32 tensor cores x 256 x 625 MHz = 5.12e12 a second at half efficiency; 604e6 multiply-accumulates.
    expected = 3e-6 + 4e-6 + 256 * 1024 * 256 * 9 / (32 * 256 * 625e6 * 0.5)
    assert runtimes_s([layer], NANO, PARAMETERS)[0] == pytest.approx(expected)


def test_runtime_of_a_memory_bound_layer() -> None:
    layer = Layer("fc", LayerKind.DENSE, "gemm", (1, 4096), (1, 4096), precision="float16", macs=4096 * 4096,
                  weight_bytes=2 * 4096 * 4096, input_bytes=8192, output_bytes=8192)  # fmt: skip
    expected = 3e-6 + (2 * 4096 * 4096 + 16384) / (68e9 * 0.8)
    assert runtimes_s([layer], NANO, PARAMETERS)[0] == pytest.approx(expected)
    slower = runtimes_s([layer], NANO, PARAMETERS, Clocks(gpu=0.9, memory=0.5))[0]
    assert slower - 3e-6 == pytest.approx(2 * (expected - 3e-6))


def test_a_copied_tensor_is_one_launch_and_two_ways_more() -> None:
    layer = convolution(256)
    copying = replace(layer, copies=3, copied_bytes=1_000_000)
    plain, more = runtimes_s([layer, copying], NANO, PARAMETERS)
    # Three launches of 3 us, and a megabyte read and written at 0.8 x 68 GB/s.
    assert more - plain == pytest.approx(3 * 3e-6 + 2e6 / (0.8 * 68e9))
    energies = energies_above_idle_j([layer, copying], np.array([plain, plain]), NANO, PARAMETERS)
    assert energies[1] - energies[0] == pytest.approx(2e6 * 72.8e-12)


def test_channels_that_do_not_fill_tiles_cost_as_much_as_those_that_do() -> None:
    three, sixteen = convolution(48), convolution(64)
    odd = replace(convolution(48), output_shape=(1, 33, 32, 32), macs=33 * 1024 * 48 * 9)
    # 33 columns take three tiles of 16, as 48 do.
    even = runtimes_s([three], NANO, PARAMETERS)[0]
    assert runtimes_s([odd], NANO, PARAMETERS)[0] == pytest.approx(even)
    assert runtimes_s([sixteen], NANO, PARAMETERS)[0] > even


def test_energy_of_a_layer() -> None:
    layer = convolution(256)
    runtime = runtimes_s([layer], NANO, PARAMETERS)
    energy = energies_above_idle_j([layer], runtime, NANO, PARAMETERS)[0]
    # Eight multiprocessors at 0.25 W; fp16 costs twice of int8; 72.8 pJ a byte.
    expected = 2.0 * runtime[0] + layer.macs * 2e-12 + layer.total_bytes * 8 * 13e-12 * 0.7
    assert energy == pytest.approx(expected)
    # At half the clock the voltage is 0.8 of the highest.
    low = energies_above_idle_j([layer], runtime, NANO, PARAMETERS, Clocks(gpu=0.5))[0]
    assert low == pytest.approx(
        2.0 * 0.64 * 0.5 * runtime[0] + layer.macs * 2e-12 * 0.64 + layer.total_bytes * 72.8e-12
    )


def test_layers_that_are_not_executed_are_free() -> None:
    layers = [replace(convolution(), operation="noop"), convolution()]
    assert runtimes_s(layers, NANO, PARAMETERS)[0] == 0.0
    prediction = prior_prediction(layers, "orin-nano")
    assert [layer.status for layer in prediction.layers] == [Status.FREE, Status.PRIOR]
    assert prediction.layers[0].energy_j == 0.0


@pytest.mark.parametrize("board", board_names())
def test_every_board_predicts_every_architecture(board: str) -> None:
    for name in ("lenet", "mobilenet_v3_small", "convnext_tiny"):
        assert name in architecture_names()
        for precision in ("float32", "float16", "int8"):
            prediction = prior_prediction(network_layers(name, precision=precision), board)
            whole = prediction.whole
            assert is_prior(prediction)
            assert whole is not None
            assert prediction.uncovered_layers == 0
            assert whole.runtime_s == pytest.approx(prediction.runtime_s)
            assert whole.energy_j == pytest.approx(prediction.energy_including_idle_j)
            assert 0.0 < whole.runtime_s < 0.5
            assert whole.power_w is not None
            # Not beyond what the board may draw by more than the prior's own error.
            limit = find_board_figures(board).power_limit_w * read_calibration().power_factor
            assert find_board_figures(board).idle_power_w < whole.power_w < limit


def test_intervals_are_as_wide_as_the_errors() -> None:
    known = PriorCalibration(PARAMETERS, 2.0, 1.5, 3, 2)
    whole = prior_prediction([convolution()], "orin-nx", known).whole
    assert whole is not None
    assert whole.energy_j is not None
    assert whole.runtime_interval_s == (pytest.approx(whole.runtime_s / 2), pytest.approx(whole.runtime_s * 2))
    factor = math.exp(math.hypot(math.log(2.0), math.log(1.5)))
    assert whole.energy_interval_j == (pytest.approx(whole.energy_j / factor), pytest.approx(whole.energy_j * factor))


def test_faster_boards_are_faster() -> None:
    layers = network_layers("resnet50", precision="float16")
    runtimes = {board: prior_prediction(layers, board).runtime_s for board in board_names()}
    assert runtimes["agx-orin"] < runtimes["orin-nx"] < runtimes["orin-nano"]
    assert runtimes["orin-nano-super"] < runtimes["orin-nano"]
    assert runtimes["agx-xavier"] < runtimes["xavier-nx"]


def test_published_peaks() -> None:
    # 20 and 85 dense int8 TOPS are twice as many multiply-accumulates; 11 fp16 TFLOPS on the AGX Xavier.
    assert 2 * (NANO.tensor_macs_per_s("int8") or 0.0) == pytest.approx(20e12, rel=0.03)
    assert 2 * (BOARD_FIGURES["agx-orin"].tensor_macs_per_s("int8") or 0.0) == pytest.approx(85e12, rel=0.03)
    assert 2 * (BOARD_FIGURES["agx-xavier"].tensor_macs_per_s("float16") or 0.0) == pytest.approx(11e12, rel=0.03)
    assert BOARD_FIGURES["agx-xavier"].tensor_macs_per_s("float32") is None
    assert 2 * BOARD_FIGURES["agx-orin"].cuda_macs_per_s("float32") == pytest.approx(5.3e12, rel=0.01)


def test_wall_and_module() -> None:
    board = BOARD_FIGURES["agx-orin"]
    assert board.at_the_module_w(board.at_the_wall_w(12.0)) == pytest.approx(12.0)
    # As reported of MaxQ runs: 6 to 7 W between the wall (about 17 W) and the module.
    assert 6.0 < 17.18 - board.at_the_module_w(17.18) < 7.0


def test_unknown_boards_are_listed() -> None:
    with pytest.raises(EdgewattError, match=r"no prior of a board 'orin-nan'.*Did you mean orin-nano.*agx-xavier"):
        prior_prediction([convolution()], "orin-nan")
    assert find_board_figures("Jetson-Orin_NX") is BOARD_FIGURES["orin-nx"]


# --- calibration ----------------------------------------------------------------------------------------------


def test_published_results_are_complete() -> None:
    results = read_published_results()
    assert len(results) >= 25
    assert {"orin-nano", "orin-nx", "agx-orin", "xavier-nx"} <= {result.board for result in results}
    assert all(result.source and result.runtime_ms > 0 for result in results)
    assert all(result.network in architecture_names() for result in results)
    assert all(result.measured_at == "wall" for result in results if result.power_w is not None)
    assert sum(result.power_w is not None for result in results) >= 8
    assert all(result.idle_module_w > 0 for result in results)


def test_split_keeps_groups_together_and_is_a_third() -> None:
    results = read_published_results()
    calibration, test = split_results(results)
    groups, test_groups = {result.group for result in results}, {result.group for result in test}
    assert len(calibration) + len(test) == len(results)
    assert not test_groups & {result.group for result in calibration}
    later = {result.group for result in results if result.use == "test"}
    assert len(later) >= 2
    assert later <= test_groups
    assert len(test_groups - later) == len(groups - later) // 3


def test_publishers() -> None:
    publishers = {result.publisher for result in read_published_results()}
    assert {"mlcommons", "NVIDIA-AI-IOT/torch2trt", "Paddle Lite documentation"} <= publishers
    assert len(publishers) == 4


def test_covering_factor() -> None:
    errors = [math.log(value) for value in (1.1, 1 / 1.2, 1.3, 1 / 1.4, 1.5, 1.6, 1 / 1.7, 1.8, 1 / 3.0)]
    # Nine errors: the conformal quantile is the ceil(10 x 0.9) = ninth.
    assert covering_factor(errors) == pytest.approx(3.0)
    # Of nineteen it is the eighteenth.
    assert covering_factor([0.0] * 17 + [0.5, 9.0]) == pytest.approx(math.exp(0.5))
    with pytest.raises(ValueError, match="no errors"):
        covering_factor([])


def made_up(board: str, network: str, batch: int, clock: float | None, truth: PriorParameters) -> PublishedResult:
    """What a board with known parameters would have published."""
    blank = PublishedResult(board, "", clock, None, network, "int8", batch, 1.0, 1.0, None, "wall", "made up", "")
    found = compare(blank, {(network, "int8", batch): network_layers(network, batch=batch, precision="int8")}, truth)
    assert found.energy_j is not None
    return replace(blank, runtime_ms=found.runtime_s * 1e3, power_w=found.energy_j / found.runtime_s)


def test_calibration_finds_known_parameters() -> None:
    truth = replace(START, ampere_launch_s=8e-6, tensor_efficiency=0.35, int8_mac_j=2.5e-12, active_sm_w=0.5)
    cases = [
        (board, network, batch, clock)
        for board in ("orin-nx", "agx-orin")
        for network, batch in (("resnet18", 1), ("vgg11", 1), ("mobilenet_v2", 4), ("resnet18", 16))
        for clock in (None, 600.0)
    ]
    results = [made_up(*case, truth) for case in cases]
    layers = {(n, "int8", b): network_layers(n, batch=b, precision="int8") for _, n, b, _ in cases}
    found = calibrate(results, layers)
    before = [compare(result, layers, START) for result in results]
    after = [compare(result, layers, found) for result in results]
    assert max(abs(error.runtime_log_error) for error in before) > 0.3
    assert max(abs(error.runtime_log_error) for error in after) < 0.05
    assert max(abs(error.energy_log_error or 0.0) for error in after) < 0.05
    assert found.int8_mac_j == pytest.approx(truth.int8_mac_j, rel=0.2)
    held_out = leave_out(results, layers, lambda result: result.board)
    assert max(abs(error.runtime_log_error) for error in held_out) < 0.1


def test_groups_count_once() -> None:
    results = [result for result in read_published_results() if result.board == "xavier-nx"]
    errors = [PriorError(result, result.runtime_ms * 2e-3, None) for result in results]
    found = group_errors(errors)
    assert len(results) > len(found.runtime) == len({result.group for result in results})
    assert found.runtime == pytest.approx([math.log(2.0)] * len(found.runtime))
    assert found.energy == []


def test_the_calibration_that_ships_is_that_of_the_results_that_ship() -> None:
    calibration, _ = split_results(read_published_results())
    keys = {(result.network, result.precision, result.batch) for result in calibration}
    layers = {key: network_layers(key[0], batch=key[2], precision=key[1]) for key in keys}
    shipped = read_calibration()
    found = calibrate(calibration, layers)
    for name in PriorParameters.__dataclass_fields__:
        assert getattr(found, name) == pytest.approx(getattr(shipped.parameters, name), rel=0.02), name
    assert shipped.calibration_results == len({result.group for result in calibration})


def test_unseen_results_lie_within_the_interval_that_ships() -> None:
    _, test = split_results(read_published_results())
    keys = {(result.network, result.precision, result.batch) for result in test}
    layers = {key: network_layers(key[0], batch=key[2], precision=key[1]) for key in keys}
    shipped = read_calibration()
    found = group_errors([compare(result, layers, shipped.parameters) for result in test])
    inside = [abs(error) <= math.log(shipped.runtime_factor) + 1e-9 for error in found.runtime]
    assert np.mean(inside) >= 0.9
    # The target for results that it has not seen: a factor of 1.6.
    assert max(abs(error) for error in found.runtime) < math.log(1.6)
    assert max(abs(error) for error in found.energy) < math.log(1.6)


def test_calibration_survives_a_file(tmp_path: object) -> None:
    path = tmp_path / "c.json"  # type: ignore[operator]
    known = PriorCalibration(PARAMETERS, 2.0, 1.5, 3, 2)
    write_calibration(path, known)
    assert read_calibration(path) == known


def test_architectures_name_their_launch_cost() -> None:
    assert (PARAMETERS.launch_s(AMPERE), PARAMETERS.launch_s(VOLTA)) == (3e-6, 20e-6)
