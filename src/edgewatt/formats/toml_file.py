"""TOML files that are checked against a pydantic model."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from edgewatt.errors import FormatError
from edgewatt.formats.checked import first_problem
from edgewatt.formats.json_file import BOM, read_bytes

# The standard library's parser is the former tomli, which Python 3.10 still needs.
_tomllib: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


class TomlModel(BaseModel):
    """A part of a file that a person writes: immutable, and a key that is not known is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())


ModelT = TypeVar("ModelT", bound=TomlModel)


def read_toml(path: Path, model: type[ModelT], help_page: str) -> ModelT:
    """Read a TOML file and check it.

    Args:
        path: The file.
        model: What it must hold.
        help_page: Where its keys are described, for the error.

    Raises:
        FormatError: The file is missing, not TOML, or does not hold what it must; the error names the key.
    """
    content = read_bytes(path).removeprefix(BOM)
    try:
        value = _tomllib.loads(content.decode())
    except ValueError as error:
        # TOMLDecodeError and UnicodeDecodeError are both of it.
        raise FormatError(f"not TOML: {error}", where=path, fix=f"See {help_page}") from error
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise FormatError(first_problem(error), where=path, fix=f"See {help_page}") from error
