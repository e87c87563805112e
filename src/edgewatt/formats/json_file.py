"""JSON files: reading with an error that says what is wrong and where, and writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.atomic import write_bytes

#: What some editors put in front of UTF-8.
BOM = b"\xef\xbb\xbf"


def read_bytes(path: Path) -> bytes:
    """Read a file.

    Raises:
        FormatError: The file is missing, unreadable or empty.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FormatError.of_system(error, "cannot be read", path) from error
    if not content.strip():
        raise FormatError("the file is empty", where=path, fix="Make it again")
    return content


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        FormatError: The file is missing, unreadable, empty or not JSON (NaN and infinity are not JSON).
    """
    content = read_bytes(path).removeprefix(BOM)
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise FormatError(
            f"not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}",
            where=path,
            fix="The file may be truncated; make it again",
        ) from error


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON, whole or not at all; numpy arrays and numbers are written as JSON's."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    try:
        content = orjson.dumps(value, option=options)
    except TypeError as error:
        raise EdgewattError(
            f"cannot be written: {error}", where=path, fix="Give files and folders names that are UTF-8"
        ) from error
    write_bytes(path, content)
