"""Sliding windows, against a count of their positions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewatt.networks.windows import Window, convolution_operation, image_shape, is_dense_window

small = st.integers(1, 5)


@settings(deadline=None)
@given(st.integers(1, 20), small, small, st.integers(0, 4), st.integers(0, 4), st.integers(1, 3))
def test_outputs_are_the_positions_that_fit(
    extent: int, kernel: int, stride: int, before: int, after: int, dilation: int
) -> None:
    padded, span = extent + before + after, dilation * (kernel - 1) + 1
    positions = [start for start in range(0, padded, stride) if start + span <= padded]
    window = Window((kernel,), (stride,), (before,), (after,), (dilation,))
    if positions:
        assert window.outputs((extent,)) == (len(positions),)


def test_rounding_up_adds_a_position_that_is_cut_off() -> None:
    parts = ((3,), (2,), (0,), (0,), (1,))
    assert Window(*parts).outputs((8,)) == (3,)
    assert Window(*parts, round_up=True).outputs((8,)) == (4,)
    assert Window(*parts, round_up=True).outputs((9,)) == (4,)


@settings(deadline=None)
@given(st.integers(1, 20), small, small, st.integers(1, 3), st.booleans())
def test_same_padding_gives_one_output_for_each_step(
    extent: int, kernel: int, stride: int, dilation: int, lower: bool
) -> None:
    window = Window((kernel,), (stride,), (0,), (0,), (dilation,)).with_same_padding((extent,), lower=lower)
    before, after = window.pre_padding[0], window.post_padding[0]
    assert before - after in ((0, 1) if lower else (-1, 0))
    if kernel >= stride:
        assert window.outputs((extent,)) == (len(range(0, extent, stride)),)


def test_layer_fields() -> None:
    assert Window((3,), (2,), (1,), (0,), (4,)).layer_fields() == {
        "kernel": (1, 3),
        "stride": (1, 2),
        "pre_padding": (0, 1),
        "post_padding": (0, 0),
        "dilation": (1, 4),
    }
    three = (1, 2, 3)
    assert Window(three, three, three, three, three).layer_fields() == {}


def test_image_shape() -> None:
    assert image_shape((2, 3, 50)) == (2, 3, 1, 50)
    assert image_shape((2, 3, 4, 5)) == (2, 3, 4, 5)
    assert image_shape((2, 3)) == (2, 3)


def test_dense_window() -> None:
    assert is_dense_window((1, 1), 1, (4, 8, 1, 1), (4, 9, 1, 1))
    assert not is_dense_window((1, 1), 1, (4, 8, 2, 1), (4, 9, 1, 1))
    assert not is_dense_window((1, 1), 1, (4, 8, 1, 1), (4, 9, 1, 2))
    assert not is_dense_window((1, 1), 2, (4, 8, 1, 1), (4, 8, 1, 1))
    assert not is_dense_window((3, 3), 1, (4, 8, 1, 1), (4, 8, 1, 1))


@pytest.mark.parametrize(
    ("groups", "channels", "transposed", "operation"),
    [
        (1, 1, False, "convolution"),
        (1, 8, False, "convolution"),
        (4, 8, False, "convolution"),
        (8, 8, False, "depthwise"),
        (8, 8, True, "transposed"),
    ],
)
def test_operation(groups: int, channels: int, transposed: bool, operation: str) -> None:
    assert convolution_operation(groups, channels, transposed=transposed) == operation
