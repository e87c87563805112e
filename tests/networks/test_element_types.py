"""Element types and their sizes."""

from __future__ import annotations

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.networks.element_types import (
    COMPUTE_TYPES,
    ELEMENT_BITS,
    bias_type,
    check_compute_type,
    element_type,
    elements_bytes,
    tensor_bytes,
    tensorrt_name,
)


@pytest.mark.parametrize(
    ("wording", "name"),
    [
        ("Thirty-two wide channel vectorized row major Int8 format", "int8"),
        ("Channel major FP32 format where channel % 4 == 0", "float32"),
        ("Row major linear BF16 format", "bfloat16"),
        ("Row major linear FP8 format", "float8"),
        ("FP8E4M3", "float8"),
        ("FP4", "float4"),
        ("DataType.HALF", "float16"),
        ("float32", "float32"),
        ("N/A due to dynamic shapes", None),
        ("", None),
    ],
)
def test_wording(wording: str, name: str | None) -> None:
    assert element_type(wording) == name


@pytest.mark.parametrize("name", ELEMENT_BITS)
def test_tensorrts_names_are_read_back(name: str) -> None:
    assert element_type(tensorrt_name(name)) == name


def test_sizes() -> None:
    assert tensor_bytes((2, 3, 5), "float16") == 60
    assert tensor_bytes((), "int64") == 8
    assert elements_bytes(3, "float4") == 2


def test_compute_types() -> None:
    for name in COMPUTE_TYPES:
        check_compute_type(name)
    with pytest.raises(EdgewattError, match="'int64'"):
        check_compute_type("int64")
    assert [bias_type(name) for name in ("float16", "int8", "float8")] == ["float16", "float32", "float32"]


def test_other_words_for_a_type_are_understood_when_told_what_is_right() -> None:
    with pytest.raises(EdgewattError, match=r"Did you mean float16\?"):
        check_compute_type("fp16")
