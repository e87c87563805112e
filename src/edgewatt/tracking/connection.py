"""The other end of `edgewatt.tracking.worker`: starts the process, asks it, and says in plain words what went wrong."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import edgewatt
from edgewatt.errors import EdgewattError
from edgewatt.extras import check_extra

#: How MLflow behaves where the environment does not say: it reports nothing to anybody, and gives up on a server that
#: does not answer within seconds instead of minutes.
_ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "1",
    "MLFLOW_HTTP_REQUEST_BACKOFF_JITTER": "0",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
_SILENT = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true"}

_SQLITE = "sqlite:///"

#: Schemes of tracking URIs (MLflow's documentation of its tracking server and of backend stores); a database's may name
#: its driver behind a plus.
_SCHEMES = frozenset(
    {"http", "https", "file", "sqlite", "postgresql", "mysql", "mssql", "databricks", "databricks-uc", "uc"}
)


class TrackingError(EdgewattError):
    """Tracking failed, and what was to be tracked is there."""

    exit_status = 1


def check_mlflow() -> None:
    """Check that MLflow is there.

    Raises:
        EdgewattError: It is not.
    """
    check_extra("mlflow", "tracking", "tracking needs MLflow, which is not installed")


def checked_uri(uri: str) -> str:
    """Check that a tracking URI is one that MLflow can have.

    Raises:
        EdgewattError: Its scheme is none of MLflow's, or its database cannot be opened.
    """
    scheme, colon, _ = uri.partition(":")
    if scheme.lower().partition("+")[0] not in _SCHEMES or not (colon or scheme.startswith("databricks")):
        raise EdgewattError(
            f"{uri!r} is no tracking URI",
            fix="Give the address of a server, http://HOST:5000, or a database, sqlite:///mlflow.db",
        )
    database = sqlite_file(uri)
    if database is not None:
        _check_opens(database)
    return uri


def _check_opens(path: Path) -> None:
    """Check that a database can be opened: MLflow tries for minutes."""
    was_there = path.exists()
    try:
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as error:
        raise EdgewattError(
            f"the database cannot be opened: {error}", where=path, fix="Name a file in a folder that is there"
        ) from error
    finally:
        if not was_there and path.is_file() and path.stat().st_size == 0:
            path.unlink()


def shown_uri(uri: str) -> str:
    """A URI without the password that may be in it."""
    return re.sub(r"(?<!/)//[^/@]+@", "//", uri)


def artifact_location(uri: str) -> str | None:
    """Where a new experiment keeps its files: beside an SQLite database; None for where the server does."""
    database = sqlite_file(uri)
    return None if database is None else database.with_name(f"{database.stem}-artifacts").as_uri()


def sqlite_file(uri: str) -> Path | None:
    """The file of an SQLite database, absolute; None for another kind of URI."""
    return Path(uri[len(_SQLITE) :]).absolute() if uri.startswith(_SQLITE) else None


class Connection:
    """A process with MLflow in it, to be used as a context; it starts at once and is waited for when it is asked.

    Args:
        uri: The tracking URI.

    Raises:
        EdgewattError: MLflow is not installed, or the URI is none.
    """

    def __init__(self, uri: str) -> None:
        check_mlflow()
        self.uri = checked_uri(uri)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "edgewatt.tracking.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment(uri),
            text=True,
            # Ctrl-C is for the one who asked.
            start_new_session=True,
        )
        self._waiting = 0
        self.send("open", uri=uri)

    def __enter__(self) -> Connection:
        """Give the connection."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let the process end, when what it is at is done: a database that is half made is of no use to anybody."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                # What was not yet read has no reader.
                with suppress(BrokenPipeError):
                    stream.close()
        self._process.poll()
        self._errors.close()

    def send(self, action: str, **arguments: Any) -> None:
        """Ask, and do not wait for the answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"action": action, **arguments}) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._ended() from error
        self._waiting += 1

    def answer(self) -> Any:
        """Wait for the answers to all that was asked, and return the last.

        Raises:
            TrackingError: One of them was an error; the first of those is told.
        """
        done: Any = None
        failed: str | None = None
        assert self._process.stdout is not None
        while self._waiting:
            line = self._process.stdout.readline()
            if not line:
                raise self._ended()
            self._waiting -= 1
            answer = json.loads(line)
            done = answer.get("done")
            failed = failed or answer.get("error")
        if failed is not None:
            raise TrackingError(_in_short(failed), where=shown_uri(self.uri))
        return done

    def ask(self, action: str, **arguments: Any) -> Any:
        """Ask and wait.

        Raises:
            TrackingError: The answer is an error.
        """
        self.send(action, **arguments)
        return self.answer()

    def _ended(self) -> TrackingError:
        """The process ended by itself; the last thing that it wrote tells why."""
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
        return TrackingError(f"the process that talks to MLflow ended: {last}", where=shown_uri(self.uri))


def environment(uri: str) -> dict[str, str]:
    """The environment of a process with MLflow in it.

    Args:
        uri: The tracking URI.
    """
    home = str(Path(edgewatt.__file__).parents[1])
    return {
        **_ENVIRONMENT,
        **os.environ,
        **_SILENT,
        "MLFLOW_TRACKING_URI": uri,
        "MLFLOW_REGISTRY_URI": uri,
        # Modules are not looked for in the folder that a user happens to be in.
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(part for part in (home, os.environ.get("PYTHONPATH")) if part),
    }


def _in_short(message: str) -> str:
    """MLflow's message; of a server that is not there it takes four lines to say so."""
    reason = re.search(r"(Connection refused|Name or service not known|timed out|No route to host)", message)
    if "Max retries exceeded" in message or reason:
        return "the server does not answer" + (f": {reason[1].lower()}" if reason else "")
    return f"MLflow: {message}"
