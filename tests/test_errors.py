"""What the operating system refuses, in words that say what to do."""

from __future__ import annotations

import errno
import os

import pytest

from edgewatt.errors import EdgewattError, FormatError


@pytest.mark.parametrize(
    ("number", "fix"),
    [(errno.EACCES, "the right to it"), (errno.ENOSPC, "Free space"), (errno.ENAMETOOLONG, "shorter name")],
)
def test_a_refusal_of_the_system_says_where_and_what_to_do(number: int, fix: str) -> None:
    told = EdgewattError.of_system(OSError(number, os.strerror(number), "/some/file"), "cannot be read")
    assert str(told).startswith("/some/file: cannot be read: " + os.strerror(number))
    assert fix in str(told)


def test_what_has_no_number_is_told_as_it_is() -> None:
    told = FormatError.of_system(OSError("odd"), where="log.txt")
    assert isinstance(told, FormatError)
    assert str(told) == "log.txt: odd"
