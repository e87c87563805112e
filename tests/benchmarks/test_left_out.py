"""Ways to leave measured layers out hold the layers that they name."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from edgewatt.dataset.features import feature_frame
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.layer import LayerKind

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "left_out.py"
CONV = LayerKind.CONVOLUTIONAL


@pytest.fixture
def left_out(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(sys, "path", [str(SCRIPT.parent), *sys.path])
    return runpy.run_path(str(SCRIPT))


@pytest.fixture
def table() -> pl.DataFrame:
    """ResNet-18's convolutions in 32-bit floats, five times over: a hundred layers."""
    layers = [layer for layer in network_layers("resnet18", batch=1, precision="float32") if layer.kind is CONV]
    return pl.concat([feature_frame(CONV, layers)] * 5)


def test_ranges_hold_the_most_and_the_least(left_out: dict[str, Any], table: pl.DataFrame) -> None:
    counted = table.with_columns(input_size_0=pl.int_range(1, table.height + 1))
    found = left_out["ranges"](counted)
    # Of 1 to 100 the quantiles are 15.85 and 85.15.
    assert counted["input_size_0"].filter(pl.Series(found["most input channels"])).to_list() == list(range(86, 101))
    assert counted["input_size_0"].filter(pl.Series(found["least input channels"])).to_list() == list(range(1, 16))


def test_corners(left_out: dict[str, Any], table: pl.DataFrame) -> None:
    found = left_out["corners"](table)
    # The first layer, one of 3 x 3 and one of 1 x 1 in each of three stages halve the image.
    assert found["stride above 1"].sum() == 5 * 7
    assert found["kernel 5 and larger"].sum() == 5
    assert not found["groups above 1"].any()
