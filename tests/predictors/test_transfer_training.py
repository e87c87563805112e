"""Predictors of one power mode of the simulated board, adapted to another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from simulated_tables import simulated_data

from edgewatt import cli_transfer
from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.csv_file import write_csv
from edgewatt.formats.json_file import read_json, write_json
from edgewatt.formats.network_info import FILE_NAME as NETWORK_FILE
from edgewatt.formats.network_info import write_network_info
from edgewatt.formats.training_tables import table_path
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors import fallback, registry
from edgewatt.predictors.adapted_function import AdaptedFunction
from edgewatt.predictors.fit_plan import fit_all, fit_fallbacks
from edgewatt.predictors.fleet_data import FleetChoice
from edgewatt.predictors.folder import CARD, METRICS, Predictors, load_predictors, write_predictors
from edgewatt.predictors.prediction import predict
from edgewatt.predictors.targets import Target
from edgewatt.predictors.training_data import TrainingData
from edgewatt.predictors.training_plan import TrainingPlan
from edgewatt.predictors.transfer_note import ADAPTED, ALONE, AS_IT_IS, TRANSFER_KEY
from edgewatt.predictors.transfer_training import adapt, adapted

FEW = ("resnet18", "vgg16", "mobilenet_v2", "squeezenet1_0", "vgg11")
OTHERS = ("alexnet", "resnet34", "squeezenet1_1", "vgg13")
NOTHING = TrainingData({}, ())


@pytest.fixture(autouse=True, scope="module")
def few_trees() -> Iterator[None]:
    """Predictors of eight trees, which are fitted in a tenth of the time."""
    usual = registry._PREDICTORS["physics"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            registry._PREDICTORS,  # type: ignore[arg-type]
            "physics",
            lambda kind, target, settings: usual(kind, target, {"trees": 8, **settings}),
        )
        patch.setattr(fallback, "TREES", 8)
        yield


@pytest.fixture(scope="module")
def source() -> Predictors:
    data = simulated_data([*FEW, *OTHERS], "15W")
    plan = TrainingPlan(data, NOTHING, "physics", {}, None)
    return Predictors(
        by_purpose=fit_all(plan)[0],
        networks=data.networks,
        idle_power_w=data.idle_power_w(),
        fallback=fit_fallbacks(plan),
        runs=data.runs(),
    )


@pytest.mark.parametrize("mode", ["7W", "25W"])
def test_five_networks_carry_predictors_to_another_power_mode(source: Predictors, mode: str) -> None:
    target = simulated_data([*FEW, *OTHERS], mode)
    found = adapted(source, target.of(FEW), target.of(OTHERS)).transfer
    assert found is not None
    assert found.scored_on == "held out"
    assert found.source == "simulated orin-nano, 15W"
    assert found.target == f"simulated orin-nano, {mode}"
    moved, as_it_is = found.ways[ADAPTED], found.ways[AS_IT_IS]
    assert moved.networks == len(OTHERS)
    assert moved.energy is not None
    assert moved.runtime is not None
    assert as_it_is.runtime is not None
    assert moved.energy < 0.08
    assert moved.runtime < 0.08
    assert as_it_is.runtime > 0.2, "a clock is a third slower, or half as fast again"
    assert set(found.known_to_source) == set(OTHERS)


def test_without_held_out_networks_each_of_the_few_is_left_out(source: Predictors) -> None:
    target = simulated_data(FEW, "7W")
    result = adapted(source, target, NOTHING)
    found = result.transfer
    assert found is not None
    assert found.scored_on == "left out"
    assert found.ways[ADAPTED].networks == 5
    assert set(found.ways) == {ADAPTED, ALONE, AS_IT_IS}
    assert result.predictors.idle_power_w == pytest.approx(target.idle_power_w())
    assert result.predictors.networks == FEW
    entry = result.metrics["convolutional"]["runtime"]
    assert entry["cv"]["mape"] < entry["baselines"][AS_IT_IS]["cv"]["mape"]
    calibration = result.predictors.calibration
    assert calibration is not None
    assert set(calibration.intervals) == {"runtime", "energy", "power"}


def test_fifty_layers_are_enough_to_move_runtimes(source: Predictors) -> None:
    target = simulated_data([*FEW, *OTHERS], "7W")
    layers = target.of(["resnet18", "vgg11"])
    result = adapted(source, TrainingData(layers.tables, layers.networks), target.of(["resnet34"]))
    assert sum(table.height for table in result.training.tables.values()) < 60
    found = result.transfer
    assert found is not None
    assert found.ways[ADAPTED].runtime is not None
    assert found.ways[ADAPTED].runtime < 0.1
    assert any("too few to tell" in note for note in result.notes)


def _write(folder: Path, data: TrainingData) -> Path:
    for name in data.networks:
        for kind, table in data.tables.items():
            write_csv(table_path(folder / name, kind), table.filter(table["network"] == name).drop("network"))
        write_network_info(folder / name / NETWORK_FILE, data.measured[name])
    return folder


def test_a_folder_of_adapted_predictors_is_read_and_predicts_as_it_was_made(source: Predictors, tmp_path: Path) -> None:
    write_predictors(tmp_path / "source", source, {}, "")
    tables = _write(tmp_path / "tables", simulated_data(FEW, "25W"))
    result = adapt(tables, tmp_path / "moved", tmp_path / "source", holdout=["vgg11"])
    loaded = load_predictors(tmp_path / "moved")
    assert isinstance(loaded.by_purpose[LayerKind.CONVOLUTIONAL, Target.POWER].function, AdaptedFunction)
    layers = network_layers("resnet34", precision="float16")
    before, after = predict(layers, result.predictors), predict(layers, loaded)
    assert [layer.power_w for layer in after.layers] == [layer.power_w for layer in before.layers]
    assert [layer.runtime_s for layer in after.layers] == [layer.runtime_s for layer in before.layers]
    assert loaded.holdout == ("vgg11",)
    assert read_json(tmp_path / "moved" / METRICS)[TRANSFER_KEY]["scored_on"] == "held out"
    card = (tmp_path / "moved" / CARD).read_text()
    assert "From predictors of simulated orin-nano, 15W, trained on 9 networks" in card
    with pytest.raises(EdgewattError, match="were adapted themselves"):
        adapt(tables, tmp_path / "again", tmp_path / "moved")
    with pytest.raises(EdgewattError, match="would replace those"):
        adapt(tables, tmp_path / "source", tmp_path / "source")


def test_a_broken_correction_is_refused(source: Predictors, tmp_path: Path) -> None:
    write_predictors(tmp_path / "source", source, {}, "")
    tables = _write(tmp_path / "tables", simulated_data(FEW[:1], "25W"))
    adapt(tables, tmp_path / "moved", tmp_path / "source")
    path = tmp_path / "moved" / "dense_runtime.json"
    content = read_json(path)
    write_json(path, {**content, "correction": {**content["correction"], "slopes": {"phase of the moon": 1.0}}})
    with pytest.raises(FormatError, match=r"no feature 'phase of the moon'"):
        load_predictors(tmp_path / "moved")


def test_one_network_is_a_plain_scale(source: Predictors) -> None:
    target = simulated_data(["resnet18"], "25W")
    result = adapted(source, target, NOTHING)
    assert result.transfer is not None
    # Its rows are divided into ten groups, which are enough to choose by; the scale is that of the clocks.
    function = result.predictors.by_purpose[LayerKind.CONVOLUTIONAL, Target.RUNTIME].function
    assert isinstance(function, AdaptedFunction)
    ratio = np.exp(function.correction.lower), np.exp(function.correction.upper)
    assert 0.6 < ratio[0] < ratio[1] < 1.0


@pytest.mark.parametrize(("mode", "told"), [("15W", True), ("25W", False)])
def test_adapting_to_the_same_state_is_remarked_on(source: Predictors, mode: str, told: bool) -> None:
    notes = adapted(source, simulated_data(["lenet"], mode), NOTHING).notes
    assert any("both of simulated orin-nano, 15W" in note for note in notes) is told


def test_options_of_a_training_from_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match=r"--degree, --tune are of a training from nothing"):
        cli_transfer.adapt(
            tmp_path,
            tmp_path,
            "source",
            holdout=(),
            choice=FleetChoice(),
            without={"--degree": 2, "--tune-degree": False, "--tune": 3, "--study": None},
            track=None,
            json=False,
        )
