"""Warnings of other precisions and boards than those trained on."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattWarning
from edgewatt.formats.run_info import RunInfo, write_run_info
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.conditions import recorded_conditions, warn_of_conditions
from edgewatt.predictors.folder import Predictors

TRAINED = Predictors(
    {}, ("a",), precisions=("float16",), runs={"board": ("NVIDIA Jetson Orin Nano",), "power_mode": ("15W",)}
)
HALF = Layer("c", LayerKind.DENSE, "gemm", (1, 4), (1, 4), macs=16, precision="float16")
SINGLE = Layer("c", LayerKind.DENSE, "gemm", (1, 4), (1, 4), macs=16, precision="float32")
COPY = Layer("r", LayerKind.OTHER, "reformat", (1, 4), (1, 4), precision="float32")


def test_the_same_conditions_are_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_conditions([HALF, COPY], TRAINED, "orin-nano")
        warn_of_conditions([SINGLE], Predictors({}, ("a",)), "orin-nx")


def test_another_precision_or_board() -> None:
    with pytest.warns(EdgewattWarning, match="compute in float32, and the predictors were trained on float16"):
        warn_of_conditions([HALF, SINGLE], TRAINED)
    with pytest.warns(EdgewattWarning, match="trained on the board NVIDIA Jetson Orin Nano, not on orin-nx"):
        warn_of_conditions([HALF], TRAINED, "orin-nx")


def test_a_recorded_engine_tells_its_board_and_power_mode(tmp_path: Path) -> None:
    engine = tmp_path / "net" / "trt_profiling" / "trt_engine_info.json"
    engine.parent.mkdir(parents=True)
    engine.write_text("{}")
    assert recorded_conditions(str(engine)) == {}
    write_run_info(
        tmp_path / "net" / "run.json", RunInfo(model="net", board="NVIDIA Jetson AGX Orin", power_mode="15W")
    )
    found = recorded_conditions(str(engine))
    assert found == {"board": "NVIDIA Jetson AGX Orin", "power_mode": "15W"}
    with pytest.warns(EdgewattWarning, match="Orin Nano, not on NVIDIA Jetson AGX Orin"):
        warn_of_conditions([HALF], TRAINED, recorded=found)
    with pytest.warns(EdgewattWarning, match="trained on the power mode 15W, not on 7W"):
        warn_of_conditions([HALF], TRAINED, recorded={"power_mode": "7W"})
    assert recorded_conditions("resnet18") == {}


def test_a_broken_run_is_told_and_does_not_stop(tmp_path: Path) -> None:
    engine = tmp_path / "engine.json"
    engine.write_text("{}")
    (tmp_path / "run.json").write_text("{")
    with pytest.warns(EdgewattWarning, match="what the network was recorded on is not known"):
        assert recorded_conditions(str(engine)) == {}
