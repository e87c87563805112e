"""Warnings of other precisions and boards than those trained on."""

from __future__ import annotations

import warnings

import pytest

from edgewatt.errors import EdgewattWarning
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.predictors.conditions import warn_of_conditions
from edgewatt.predictors.folder import Predictors

TRAINED = Predictors({}, ("a",), precisions=("float16",), runs={"board": ("NVIDIA Jetson Orin Nano",)})
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
    with pytest.warns(EdgewattWarning, match="trained on NVIDIA Jetson Orin Nano, not on orin-nx"):
        warn_of_conditions([HALF], TRAINED, "orin-nx")
