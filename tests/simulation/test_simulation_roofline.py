from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_layers import convolution, dense, noop, pooling, small_network

from edgewatt.errors import EdgewattError
from edgewatt.simulation.board import BOARDS, ORIN_NANO, find_board
from edgewatt.simulation.roofline import layer_truth


def _runtime_s(*layers):
    return layer_truth(layers, ORIN_NANO)[0]


def _power_w(*layers):
    return layer_truth(layers, ORIN_NANO)[1]


def test_published_figures_of_the_orin_nano():
    # 1024 CUDA cores and 32 tensor cores at 625 MHz; 20 dense int8 TOPS are 10e12 MACs a second.
    assert ORIN_NANO.cuda_macs_per_s["float32"] == pytest.approx(0.64e12)
    assert ORIN_NANO.tensor_macs_per_s["int8"] == pytest.approx(10.24e12)
    assert ORIN_NANO.tensor_macs_per_s["float16"] == pytest.approx(5.12e12)
    assert ORIN_NANO.idle_power_w == 4.235


def test_unknown_board_is_told_with_those_there_are():
    with pytest.raises(EdgewattError, match="orin-nano"):
        find_board("tx1")
    assert find_board("orin-nano") is BOARDS["orin-nano"]


def test_a_dense_layer_takes_what_reading_its_weights_takes():
    # 16 M weights in fp16 are 33.6 MB; at 70 % of 68 GB/s that is 0.705 ms, and 5 us for the launch.
    layer = dense("fc", 4096, 4096)
    expected = (2 * (4096 * 4096 + 4096) + 4 * 4096) / (68e9 * 0.7) + 5e-6
    assert _runtime_s(layer)[0] == pytest.approx(expected, rel=0.041)


def test_bigger_layers_take_longer():
    growing = [
        convolution("a", (64, 64), 14),
        convolution("b", (64, 64), 28),
        convolution("c", (64, 128), 28),
        convolution("d", (128, 128), 56),
        convolution("e", (128, 128), 56, kernel=5),
    ]
    assert np.all(np.diff(_runtime_s(*growing)) > 0)


def test_narrower_types_are_faster():
    times = _runtime_s(*(convolution("a", (256, 256), 56, precision=p) for p in ("int8", "float16", "float32")))
    assert np.all(np.diff(times) > 0)


def test_a_tiny_layer_takes_little_more_than_its_launch():
    assert 5e-6 < _runtime_s(dense("fc", 400, 120))[0] < 12e-6


def test_a_batch_shares_the_weights_and_the_launch():
    one, eight = _runtime_s(*(convolution("a", (256, 256), 14, batch=b) for b in (1, 8)))
    assert one < eight < 8 * one


def test_unaligned_channels_are_slower():
    aligned, unaligned = _runtime_s(convolution("a", (128, 128), 56), convolution("b", (121, 128), 56))
    # Fewer operations, yet no faster than the deviation of single shapes could explain.
    assert unaligned > 0.92 * aligned


def test_no_runtime_is_below_the_roofline():
    for layer in (convolution("a", (256, 256), 112), pooling("b", 64, 112), dense("c", 4096, 1000)):
        bound = max(layer.macs / ORIN_NANO.tensor_macs_per_s["float16"], layer.total_bytes / ORIN_NANO.dram_bytes_per_s)
        assert _runtime_s(layer)[0] > bound


def test_depthwise_draws_less_than_dense_convolution():
    depthwise, full = _power_w(convolution("a", (128, 128), 56, groups=128), convolution("b", (128, 128), 56))
    assert depthwise < full - 1.0


def test_powers_are_spread_and_within_the_power_mode():
    layers = [
        convolution("a", (512, 512), 28),
        convolution("b", (512, 512), 14, precision="int8"),
        convolution("c", (64, 64), 56, precision="float32"),
        convolution("d", (6, 16), 10),
        *small_network(),
    ]
    runtime_s, power_w = layer_truth(layers, ORIN_NANO)
    ran = power_w[runtime_s > 0]
    assert ran.min() >= ORIN_NANO.active_power_w
    assert ran.max() <= ORIN_NANO.power_limit_w - ORIN_NANO.idle_power_w
    assert np.ptp(ran) > 4.0


def test_what_is_not_executed_takes_nothing():
    runtime_s, power_w = layer_truth([noop("a")], ORIN_NANO)
    assert runtime_s[0] == 0.0
    assert power_w[0] == 0.0


def test_deviation_is_the_layers_own_and_small():
    layer = convolution("a", (256, 256), 56)
    again = replace(layer, name="another name")
    assert _runtime_s(layer) == _runtime_s(again)
    # Around a shape, runtimes per operation jump up and down by a few per cent.
    sizes = range(48, 64)
    layers = [convolution("a", (256, 256), size) for size in sizes]
    rates = np.array([layer.macs for layer in layers]) / (_runtime_s(*layers) - 5e-6)
    steps = np.diff(np.log(rates))
    assert np.any(steps > 0.003)
    assert np.any(steps < -0.003)
    assert np.abs(steps).max() < 0.15


def test_no_layers():
    runtime_s, power_w = layer_truth([], ORIN_NANO)
    assert runtime_s.shape == power_w.shape == (0,)
