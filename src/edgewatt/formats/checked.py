"""Small JSON files that are checked against a pydantic model."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from edgewatt.errors import FormatError
from edgewatt.formats.json_file import read_json, write_json


class FileModel(BaseModel):
    """A file's content: immutable, with unknown keys kept, numbers never guessed from text."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True, protected_namespaces=())


ModelT = TypeVar("ModelT", bound=FileModel)


def read_checked(path: Path, model: type[ModelT], layout: str) -> ModelT:
    """Read a JSON file and check it.

    Args:
        path: The file.
        model: What it must hold.
        layout: What the file looks like, for the error.

    Raises:
        FormatError: The file is missing, not JSON, or does not hold what it must.
    """
    return check_value(read_json(path), model, path, layout)


def check_value(value: Any, model: type[ModelT], path: Path, layout: str) -> ModelT:
    """Check what was read of a JSON file; arguments and errors as for `read_checked`."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise FormatError(first_problem(error), where=path, fix=layout) from error


def first_problem(error: ValidationError) -> str:
    """The first thing that pydantic found wrong in a file, with its key, in a user's words."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"]) or "the file"
    known = {"extra_forbidden": "this key is not known", "missing": "this key is missing"}
    return f"{key}: {known.get(first['type'], str(first['msg']).removeprefix('Value error, '))}"


def write_checked(path: Path, content: FileModel) -> None:
    """Write a file's content as JSON, whole or not at all."""
    write_json(path, content.model_dump(mode="json", exclude_none=True))
