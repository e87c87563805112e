"""Predictors of several boards: what is mixed, what is held out, and boards' figures as features."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from edgewatt.errors import EdgewattError, EdgewattWarning
from edgewatt.formats.conditions import Condition
from edgewatt.formats.csv_file import write_csv
from edgewatt.formats.network_info import NetworkInfo, write_network_info
from edgewatt.formats.training_tables import table_path
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors import board_features
from edgewatt.predictors.board_features import board_rates, with_board
from edgewatt.predictors.evaluate import evaluate
from edgewatt.predictors.families import families
from edgewatt.predictors.fleet_data import FleetChoice, fleet_training_data
from edgewatt.predictors.fleet_prediction import meant_board
from edgewatt.predictors.fleet_scores import ALL_BOARDS, OTHER_BOARDS, OWN_BOARD
from edgewatt.predictors.folder import Predictors, load_predictors
from edgewatt.predictors.folds import network_folds
from edgewatt.predictors.network_scores import network_groups
from edgewatt.predictors.physics import layer_amounts
from edgewatt.predictors.prediction import predict
from edgewatt.predictors.targets import Target
from edgewatt.predictors.trained_scores import trained_scores
from edgewatt.predictors.training import train
from edgewatt.predictors.training_plan import divide
from small_training import convolutions

CONV = LayerKind.CONVOLUTIONAL
#: Peak multiply-accumulates a second in float32 and idle power of the simulated boards, by hand from their data sheets.
BOARDS = {
    "orin-nano": (32 * 128 * 625e6, 4.235),
    "agx-orin": (64 * 128 * 1300e6, 8.2),
    "xavier-nx": (384 * 1100e6, 2.3),
}


def _write(folder: Path, table: pl.DataFrame, peak: float, idle_w: float) -> None:
    """A network of layers that take a launch and three times their peak time, and draw as the idle power says."""
    sizes = ["output_size_0", "output_size_1", "output_size_2", "input_size_0", "kernel_0", "kernel_1"]
    operations = np.prod([table[name].to_numpy() for name in sizes], axis=0)
    table = table.with_columns(
        pl.Series("runtime", 0.005 + 3e3 * operations / peak),
        pl.lit(1e6 * (1.0 + idle_w)).alias("power"),
        pl.lit(idle_w).alias("idle_power_w"),
    )
    write_csv(table_path(folder, CONV), table)


def _describe(folder: Path, board: str, power_mode: str = "15W") -> None:
    info = NetworkInfo(
        edgewatt_version="0", model=folder.name, run={"board": board, "power_mode": power_mode}, idle_power_w=4.0
    )
    write_network_info(folder / "network.json", info)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six networks on each of three simulated boards."""
    root = tmp_path_factory.mktemp("boards")
    for board, (peak, idle_w) in BOARDS.items():
        for number, network in enumerate("abcdef"):
            folder = root / "fleet" / board / network
            _write(folder, convolutions(6, seed=number), peak, idle_w)
            _describe(folder, f"simulated {board}")
    return root / "fleet"


def test_boards_are_not_mixed_unawares(fleet: Path, tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match=r"simulated agx-orin, 15W \(6 networks\); simulated orin-nano.*--mix"):
        train(fleet, tmp_path / "p", predictor="mean")
    with pytest.raises(EdgewattError, match="--board and --power-mode"):
        evaluate(fleet, predictor="mean")
    alone = train(fleet, tmp_path / "p", predictor="mean", choice=FleetChoice(board="xavier"))
    assert alone.predictors.networks == tuple(f"xavier-nx/{name}" for name in "abcdef")
    mixed = train(fleet, tmp_path / "p", predictor="mean", choice=FleetChoice(mix=True))
    assert len(mixed.predictors.networks) == 18
    with pytest.warns(EdgewattWarning, match="mix the boards .* cannot tell them apart"):
        _warn(mixed.predictors)


def _warn(predictors: Predictors) -> None:
    from edgewatt.predictors.conditions import warn_of_conditions

    warn_of_conditions([], predictors)


def test_tables_without_descriptions_are_one_unknown_board(tmp_path: Path) -> None:
    for number, network in enumerate("abc"):
        _write(tmp_path / "old" / network, convolutions(4, seed=number), 1e12, 4.0)
    result = train(tmp_path / "old", tmp_path / "p", predictor="mean")
    assert result.predictors.networks == ("a", "b", "c")
    _describe(tmp_path / "old" / "b", "orin-nano")
    with pytest.raises(EdgewattError, match=r"unknown board \(2 networks\); orin-nano, 15W \(1 network\)"):
        train(tmp_path / "old", tmp_path / "p", predictor="mean")


def test_a_network_is_held_out_on_every_board(fleet: Path) -> None:
    data = fleet_training_data(fleet, FleetChoice(mix=True))
    training, test = divide(data, ["a", "xavier-nx/b"], fleet)
    assert {name.rpartition("/")[2] for name in training.networks} == set("cdef")
    assert sorted(test.networks) == sorted(f"{board}/{name}" for board in BOARDS for name in "ab")
    with pytest.raises(EdgewattError, match="no network z to hold out"):
        divide(data, ["z"], fleet)


def test_folds_leave_a_network_out_on_every_board(fleet: Path) -> None:
    data = fleet_training_data(fleet, FleetChoice(mix=True))
    folds = network_folds(data.tables, 10)
    fold_of = dict(zip(data.tables[CONV]["network"].to_list(), folds.numbers[CONV].tolist(), strict=True))
    for network in "abcdef":
        assert len({fold_of[f"{board}/{network}"] for board in BOARDS}) == 1
    assert len(set(fold_of.values())) == 6
    assert folds.grouping[CONV] == "network"


def test_networks_and_families_have_no_board() -> None:
    assert network_groups(["n/a", "b", "m/a@b4", "n/b"]).tolist() == [0, 1, 0, 1]
    named = families(["nano/resnet18", "agx/resnet34@7W", "nano/mine"], {"mine": "own"})
    assert list(named.values()) == ["resnet", "resnet", "own"]


def test_costs_are_in_the_boards_peak_seconds() -> None:
    table = convolutions(3, seed=0)
    agx, nano = (board_rates(Condition(f"simulated {name}", "")) for name in ("agx-orin", "orin-nano"))
    fast, slow = (layer_amounts(CONV, with_board(table, [one]), detailed=False) for one in (agx, nano))
    assert slow["tensor_time"] / fast["tensor_time"] == pytest.approx(2 * 1300 / 625)
    assert slow["memory_time"] / fast["memory_time"] == pytest.approx(204.8 / 68)
    neutral = layer_amounts(CONV, table, detailed=False)
    assert neutral["tensor_time"].tolist() == neutral["memory_time"].tolist() == [1.0, 1.0, 1.0]
    half = with_board(table.with_columns(pl.lit("float16").alias("precision")), [nano])
    assert half["board_tensor_rate"].to_list() == pytest.approx([32 * 256 * 625e6 / 1e12] * 3)


def test_published_rates_follow_the_recorded_clocks() -> None:
    board = Condition("NVIDIA Jetson Orin Nano Developer Kit", "7W")
    clocks = {"before": {"gpu": {"17000000.gpu": {"highest_khz": 312500}}, "memory": {"highest_khz": 2133000}}}
    slow, fast = board_rates(board, clocks=clocks), board_rates(board, idle_power_w=3.5)
    assert slow.macs_per_s["float16"] == pytest.approx(fast.macs_per_s["float16"] / 2)
    assert slow.bytes_per_s == fast.bytes_per_s == 68e9
    assert (slow.idle_power_w, fast.idle_power_w) == (4.235, 3.5)


@pytest.fixture(scope="module")
def predictors_dir(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("predictors")
    train(fleet, folder, choice=FleetChoice(board_features=True), holdout=["a"])
    return folder


@pytest.fixture
def trained(predictors_dir: Path) -> Predictors:
    return load_predictors(predictors_dir)


def test_one_predictor_serves_boards_and_says_how_well(trained: Predictors, fleet: Path, predictors_dir: Path) -> None:
    metrics = json.loads((predictors_dir / "metrics.json").read_text())
    scores = {(score["board"], score["way"]): score for score in metrics["boards"]}
    assert len(scores) == 9
    for board in BOARDS:
        own, mixed, others = (scores[f"simulated {board}, 15W", way] for way in (OWN_BOARD, ALL_BOARDS, OTHER_BOARDS))
        assert own["networks"] == 5
        assert own["layer_runtime"] < 0.25
        assert mixed["layer_runtime"] < 0.25
        # Peak rates span a factor of 25, and figures carry the runtime over.
        assert others["layer_runtime"] < 0.35
    assert "| simulated agx-orin, 15W | other boards | 5 |" in (predictors_dir / "card.md").read_text()
    # Held out on every board, and scored on each.
    found = trained_scores(fleet, trained)
    assert found.networks == tuple(f"{board}/a" for board in sorted(BOARDS))
    assert found.layers["convolutional"]["runtime"]["mape"] < 0.25


def test_predictions_need_a_board(trained: Predictors) -> None:
    layers = network_layers("resnet18", precision="float32")
    with pytest.raises(EdgewattError, match=r"none is named.*known are: simulated agx-orin, 15W; simulated orin-nano"):
        meant_board(trained, None)
    with pytest.raises(EdgewattError, match="none is named"):
        predict(layers, trained)
    nano, xavier = meant_board(trained, "orin-nano"), meant_board(trained, None, recorded={"board": "xavier-nx"})
    assert nano is not None
    assert xavier is not None
    assert (nano.board, xavier.board) == ("simulated orin-nano", "simulated xavier-nx")
    of_nano, of_xavier = (predict(layers, trained, board) for board in (nano, xavier))
    assert (of_nano.idle_power_w, of_xavier.idle_power_w) == pytest.approx((4.235, 2.3))
    assert of_xavier.runtime_s > 1.5 * of_nano.runtime_s
    with pytest.raises(EdgewattError, match="'orin' may be several"):
        meant_board(trained, "orin")


def test_boards_that_were_not_trained_on(trained: Predictors, tmp_path: Path) -> None:
    with pytest.warns(EdgewattWarning, match=r"nothing was trained on orin-nx: its figures \(published\)"):
        board = meant_board(trained, "orin-nx")
    assert board is not None
    assert board.bytes_per_s == 102.4e9
    prediction = predict(network_layers("lenet"), trained, board)
    factors = trained.new_board_intervals
    assert set(factors) == {"convolutional power", "convolutional runtime", "convolutional energy"}
    first, power = prediction.layers[0], trained.get(CONV, Target.POWER)
    assert first.power_interval_w is not None
    assert power is not None
    # The interval of a new board, which here is far wider than that of a known one.
    assert power.interval is not None
    assert factors["convolutional power"] > 2 * power.interval
    with pytest.raises(EdgewattError, match=r"no published figures of the board: mine.*Known are.*--board-figures"):
        meant_board(trained, "mine")
    given = tmp_path / "figures.toml"
    given.write_text(
        "[boards.mine]\nmacs_per_s = {float32 = 1e12, float16 = 2e12}\ncuda_macs_per_s = {float32 = 5e11}\n"
        "bytes_per_s = 5e10\nmultiprocessors = 4\nidle_power_w = 3\n"
    )
    with pytest.warns(EdgewattWarning, match="nothing was trained on mine"):
        mine = meant_board(trained, "mine", board_figures=given)
    assert mine is not None
    assert (mine.macs_per_s["float16"], mine.idle_power_w) == (2e12, 3.0)


def test_boards_without_figures(tmp_path: Path) -> None:
    for board in ("mine", "simulated orin-nano"):
        for number, network in enumerate("abc"):
            folder = tmp_path / "tables" / board.replace(" ", "-") / network
            _write(folder, convolutions(4, seed=number), 1e12, 3.0)
            _describe(folder, board)
    with pytest.raises(EdgewattError, match="no published figures of the board: mine, 15W"):
        fleet_training_data(tmp_path / "tables", FleetChoice(board_features=True))
    given = tmp_path / "figures.toml"
    given.write_text("[boards.mine]\nbytes_per_s = 5e10\n")
    with pytest.raises(EdgewattError, match=r"boards\.mine\.macs_per_s: this key is missing"):
        fleet_training_data(tmp_path / "tables", FleetChoice(board_features=True, board_figures=given))
    with pytest.raises(EdgewattError, match="Add --board-features"):
        fleet_training_data(tmp_path / "tables", FleetChoice(board_figures=given))


def test_only_the_default_predictor_has_board_features(fleet: Path, tmp_path: Path) -> None:
    choice = FleetChoice(board_features=True)
    for predictor in ("neuralpower", "mean"):
        with pytest.raises(EdgewattError, match=f"{predictor} has no place for a board's figures.*--board"):
            train(fleet, tmp_path / "p", predictor=predictor, choice=choice)
        with pytest.raises(EdgewattError, match="no place"):
            evaluate(fleet, predictor=predictor, choice=choice)


def test_help_page_of_figures_is_there() -> None:
    assert (Path(__file__).parents[2] / board_features._HELP_PAGE).exists()
