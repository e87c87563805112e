"""The highest rates of boards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.results.network_result import Environment, LayerResult, NetworkResult, Source
from edgewatt.results.peaks import peak_rates

_RESULT = NetworkResult("net", Source.MAPPED, Path("net"), (LayerResult("a", LayerKind.OTHER, "x"),))


def result(board: str, precision: str = "float16", power_mode: str = "") -> NetworkResult:
    return replace(_RESULT, environment=Environment(board=board, precision=precision, power_mode=power_mode))


@pytest.mark.parametrize("board", ["orin-nano", "simulated orin-nano", "NVIDIA Jetson Orin Nano Developer Kit"])
def test_an_orin_nano_has_half_of_its_int8_rate_in_float16(board: str) -> None:
    # 20 dense int8 TOPS are 10.24e12 MACs a second at 32 tensor cores x 512 x 625 MHz, and float16 has half of them.
    found = peak_rates(result(board))
    assert found is not None
    assert (found.macs_per_s, found.bytes_per_s) == pytest.approx((5.12e12, 68e9))
    assert found.unit == "tensor cores"


@pytest.mark.parametrize(
    ("board", "power_mode", "bytes_per_s"),
    [
        ("NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super", "25W", 102e9),
        ("NVIDIA Jetson Orin Nano Developer Kit", "MAXN_SUPER", 102e9),
        ("NVIDIA Jetson Orin Nano Developer Kit", "15W", 68e9),
        ("NVIDIA Jetson Orin NX 16GB", "", 102.4e9),
        ("NVIDIA Jetson AGX Orin Developer Kit", "MAXN", 204.8e9),
        ("Jetson-AGX Xavier", "", 137e9),
        ("NVIDIA Jetson Xavier NX Developer Kit", "", 59.7e9),
    ],
)
def test_names_and_power_modes_of_boards(board: str, power_mode: str, bytes_per_s: float) -> None:
    found = peak_rates(result(board, power_mode=power_mode))
    assert found is not None
    assert found.bytes_per_s == bytes_per_s


@pytest.mark.parametrize(
    "board",
    ["", "Raspberry Pi 4", "simulated other", "NVIDIA Jetson Orin NX 8GB", "Jetson Orin Nano 4GB", "Jetson TX2"],
)
def test_boards_without_figures_have_none(board: str) -> None:
    assert peak_rates(result(board)) is None


def test_volta_computes_float32_on_cuda_cores() -> None:
    found = peak_rates(result("xavier-nx", "float32"))
    assert found is not None
    # 384 CUDA cores with one fused multiply-add a cycle at 1100 MHz.
    assert (found.unit, found.macs_per_s) == ("CUDA cores", pytest.approx(384 * 1.1e9))


def test_a_precision_that_is_not_told_is_that_of_most_layers() -> None:
    layers = tuple(
        LayerResult(
            name, LayerKind.OTHER, "x", layer=Layer(name, LayerKind.OTHER, "x", (1,), (1,), precision=precision)
        )
        for name, precision in (("a", "int8"), ("b", "float32"), ("c", "int8"))
    )
    found = peak_rates(replace(result("orin-nano", ""), layers=layers))
    assert found is not None
    assert found.precision == "int8"
    assert peak_rates(result("orin-nano", "")) is None
