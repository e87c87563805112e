"""Predictors by what names them: a folder, or a version or run in MLflow."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgewatt.errors import EdgewattError
from edgewatt.predictors.folder import MANIFEST

_TRACKED = re.compile(r"(models|runs):/+(?=[^/])")
_VARIABLE = "MLFLOW_TRACKING_URI"


@contextmanager
def predictors_folder(name: str | None, uri: str | None = None) -> Iterator[Path | None]:
    """Give a folder with the predictors that are named; one from MLflow is fetched, and gone after the block.

    Args:
        name: A folder, `models:/NAME/VERSION`, `models:/NAME@alias` or `runs:/ID/predictors`; None gives None.
        uri: Tracking URI; None for that of the environment variable MLFLOW_TRACKING_URI.

    Raises:
        EdgewattError: MLflow is not installed, or no tracking URI is known, or MLflow has no such predictors.
    """
    if name is None or not _TRACKED.match(name):
        yield None if name is None else Path(name)
        return
    from edgewatt.tracking.connection import Connection, TrackingError, shown_uri, sqlite_file

    uri = uri or os.environ.get(_VARIABLE)
    if not uri:
        raise EdgewattError(
            f"{name} is kept by MLflow, and it is not known where",
            fix=f"Give the tracking URI with --track, or in the environment variable {_VARIABLE}",
        )
    database = sqlite_file(uri)
    if database is not None and not database.exists():
        raise EdgewattError("there is no such database of MLflow", where=database)
    with tempfile.TemporaryDirectory(prefix="edgewatt-") as folder:
        try:
            with Connection(uri) as connection:
                found = Path(connection.ask("download", uri=_TRACKED.sub(r"\1:/", name), folder=folder))
        except TrackingError as error:
            raise EdgewattError(f"{name} cannot be fetched: {error.what}", where=error.where) from error
        if not (found / MANIFEST).is_file():
            raise EdgewattError(f"{name} holds no predictors of edgewatt", where=shown_uri(uri))
        yield found
