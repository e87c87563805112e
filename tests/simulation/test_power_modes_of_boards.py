from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from edgewatt.errors import EdgewattError
from edgewatt.formats.idle_power import read_idle_power
from edgewatt.formats.run_info import read_run_info
from edgewatt.networks.architectures import network_layers
from edgewatt.simulation.board import ORIN_NANO, find_board
from edgewatt.simulation.roofline import layer_truth
from edgewatt.simulation.states import simulate_states


def test_the_usual_mode_is_the_board_itself() -> None:
    assert find_board("orin-nano", "15W") is ORIN_NANO
    assert ORIN_NANO.usual_mode == "15W"


def test_rates_and_bandwidth_follow_their_clocks() -> None:
    board = find_board("orin-nano", "25W")
    assert board.tensor_macs_per_s["float16"] == pytest.approx(ORIN_NANO.tensor_macs_per_s["float16"] * 1.5)
    assert board.dram_bytes_per_s == pytest.approx(102e9, rel=0.01), "the 25 W mode's published bandwidth"
    assert board.launch_s < ORIN_NANO.launch_s
    slow = find_board("orin-nano", "7W")
    assert slow.dram_bytes_per_s == ORIN_NANO.dram_bytes_per_s
    assert slow.idle_power_w < ORIN_NANO.idle_power_w < board.idle_power_w
    assert board.in_mode("7W").cuda_macs_per_s["float32"] == pytest.approx(slow.cuda_macs_per_s["float32"])


def test_a_slower_mode_takes_longer_and_draws_less_in_every_layer() -> None:
    layers = network_layers("resnet18", precision="float16")
    truth = [layer_truth(layers, find_board("orin-nano", mode)) for mode in ("7W", "15W", "25W")]
    executed = truth[0][0] > 0
    for slow, fast in itertools.pairwise(truth):
        assert (slow[0][executed] > fast[0][executed]).all()
        assert np.mean(slow[1][executed]) < np.mean(fast[1][executed])


def test_no_network_passes_the_limit_of_its_mode_by_much() -> None:
    layers = network_layers("vgg16", precision="float16")
    for mode in ("7W", "15W", "25W", "MAXN_SUPER"):
        board = find_board("orin-nano", mode)
        runtime_s, power_w = layer_truth(layers, board)
        mean_w = board.idle_power_w + float(power_w @ runtime_s / runtime_s.sum())
        assert mean_w < 1.5 * board.power_limit_w


def test_states_are_written_with_what_they_are(tmp_path: Path) -> None:
    folders = simulate_states(
        tmp_path, ["lenet"], batches=[1, 2], precisions=["float32"], power_modes=["25W", "7W"], cycles=20
    )
    assert [str(folder.relative_to(tmp_path)) for folder in folders] == [
        "25W/lenet@b1-float32-25W",
        "25W/lenet@b2-float32-25W",
        "7W/lenet@b1-float32-7W",
        "7W/lenet@b2-float32-7W",
    ]
    run = read_run_info(folders[1] / "run.json")
    assert (run.batch_size, run.precision, run.power_mode) == (2, "float32", "25W")
    assert (tmp_path / "7W/truth/lenet@b1-float32-7W.csv").exists()
    idle_w = [read_idle_power(tmp_path / mode / "idling_power.json").power_w for mode in ("25W", "7W")]
    assert idle_w[0] > idle_w[1] + 0.3


def test_a_mode_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match=r"no power mode '15 W'.*7W, 15W, 25W, MAXN_SUPER"):
        simulate_states(tmp_path, ["lenet"], power_modes=["7W", "15 W"])
    assert not any(tmp_path.iterdir())
