"""Element types of tensors: their names here, their sizes, and what backends call them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from edgewatt.errors import EdgewattError

ELEMENT_BITS: dict[str, int] = {
    "float64": 64,
    "float32": 32,
    "float16": 16,
    "bfloat16": 16,
    "float8": 8,
    "float4": 4,
    "int64": 64,
    "int32": 32,
    "int16": 16,
    "int8": 8,
    "int4": 4,
    "uint8": 8,
    "bool": 8,
}
COMPUTE_TYPES = ("float32", "float16", "bfloat16", "float8", "int8")

_ALIASES = {
    "double": "float64",
    "fp64": "float64",
    "float": "float32",
    "fp32": "float32",
    "half": "float16",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp8": "float8",
    "fp4": "float4",
}
# What TensorRT calls the types in "Weights" and in tensors inside of Myelin regions.
_TENSORRT_NAMES = {
    "float32": "Float",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float8": "FP8",
    "float4": "FP4",
    "int64": "Int64",
    "int32": "Int32",
    "int8": "Int8",
    "int4": "Int4",
    "uint8": "UInt8",
    "bool": "Bool",
}


def element_type(text: str) -> str | None:
    """The element type that a backend's wording names, None where it names none.

    Args:
        text: A type (`Half`, `Float`, `Int8`, `BFloat16`) or a memory format that ends in one
            (`Channel major FP16 format where channel % 8 == 0`).
    """
    words: list[str] = re.findall(r"[a-z]+[0-9]*", text.lower())
    names = (_ALIASES.get(word, word) for word in words)
    return next((name for name in names if name in ELEMENT_BITS), None)


def tensorrt_name(precision: str) -> str:
    """The word that `element_type` reads back as `precision`, TensorRT's own where it has one."""
    return _TENSORRT_NAMES.get(precision, precision)


def elements_bytes(count: int, precision: str) -> int:
    """Bytes of `count` densely packed elements, whole bytes where elements are smaller than one."""
    return (count * ELEMENT_BITS[precision] + 7) // 8


def tensor_bytes(shape: Sequence[int], precision: str) -> int:
    """Bytes of a tensor with logical dimensions `shape`, with no padding of a memory format."""
    return elements_bytes(prod(shape), precision)


def check_compute_type(precision: str) -> None:
    """Make sure that layers can compute in `precision`.

    Raises:
        EdgewattError: It is none of `COMPUTE_TYPES`.
    """
    if precision not in COMPUTE_TYPES:
        meant = element_type(precision)
        close = f"Did you mean {meant}? " if meant in COMPUTE_TYPES else ""
        raise EdgewattError(f"unknown precision {precision!r}", fix=f"{close}Use one of {', '.join(COMPUTE_TYPES)}")


def bias_type(precision: str) -> str:
    """The type of biases: quantised layers keep theirs in float32, as TensorRT's do."""
    return "float32" if ELEMENT_BITS[precision] < 16 else precision
