"""Families of networks by their names."""

from __future__ import annotations

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.predictors.families import families, family, named_families


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("resnet18", "resnet"),
        ("resnext50_32x4d", "resnext"),
        ("wide_resnet50_2", "resnet"),
        ("mobilenet_v3_small@b4-float16-15W", "mobilenet"),
        ("vgg11", "vgg"),
        ("mynet-2", "mynet"),
        ("42", "42"),
    ],
)
def test_family(network: str, expected: str) -> None:
    assert family(network) == expected


def test_families_that_are_named() -> None:
    named = named_families(["a1=first", "b=second"])
    assert families(["a1", "a2", "b"], named) == {"a1": "first", "a2": "a", "b": "second"}
    with pytest.raises(EdgewattError, match="'a1' names no family"):
        named_families(["a1"])
