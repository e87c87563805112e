"""Trainings in a real MLflow: an SQLite database, and a server that is a process of its own and dies."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from edgewatt.cli import app
from edgewatt.errors import EdgewattError
from edgewatt.predictors.folder import Predictors, load_predictors
from edgewatt.predictors.training import TrainingResult, train
from edgewatt.tracking.connection import Connection, TrackingError
from edgewatt.tracking.sources import predictors_folder
from edgewatt.tracking.tracker import tracker
from small_training import write_training_data

pytest.importorskip("mlflow")


@contextmanager
def server(database: Path, artifacts: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A tracking server on a free port, ready to answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{database}", "--artifacts-destination", str(artifacts)]
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    log = artifacts.with_suffix(".log")
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", process, log)
            yield f"http://127.0.0.1:{port}", process
        finally:
            _end(process)


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 240  # on a machine that is busy with other tests
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except OSError:
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
    raise AssertionError(log.read_text())


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the server and the processes that it started."""
    if process.poll() is None:
        os.killpg(process.pid, 9)
    process.wait()


def _functions(predictors: Predictors) -> dict[Any, Any]:
    return {
        purpose: (stored.function.lower, stored.function.upper) for purpose, stored in predictors.by_purpose.items()
    }


def _log(uri: str, result: TrainingResult, training: Path, folder: Path, experiment: str) -> dict[str, Any]:
    with tracker(uri, experiment, register="board") as one:
        return one.log(result, training, folder).to_dict()


def test_tracked_registered_loaded_back_and_a_server_that_dies(tmp_path: Path) -> None:
    """One test, for MLflow's processes take seconds to start."""
    training, folder = write_training_data(tmp_path / "training"), tmp_path / "predictors"
    result = train(training, folder, predictor="mean")
    database = tmp_path / "mlflow.db"

    # An SQLite database.
    uri = f"sqlite:///{database}"
    first = _log(uri, result, training, folder, "local")
    assert (first["model"], first["version"], first["predictors"]) == ("board", "1", "models:/board/1")
    kept = tmp_path / "mlflow-artifacts" / first["run_id"] / "artifacts"
    assert (kept / "figures" / "layers.html").stat().st_size > 100_000
    written = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {path.name: path.read_bytes() for path in (kept / "predictors").iterdir()} == written
    assert not any(name.endswith((".pkl", ".pickle")) for name in written)

    with server(database, tmp_path / "server") as (address, process):
        run = _get(f"{address}/api/2.0/mlflow/runs/get?run_id={first['run_id']}")["run"]
        values = {one["key"]: one["value"] for one in run["data"]["metrics"]}
        entry = result.metrics["convolutional"]["power"]
        assert values["convolutional/power/cv/mape"] == pytest.approx(entry["cv"]["mape"])
        settings = {one["key"]: one["value"] for one in run["data"]["params"]}
        assert settings["predictor"] == "mean"
        assert run["info"]["status"] == "FINISHED"

        # The server: artifacts go through it, and the version counts on.
        second = _log(address, result, training, folder, "remote")
        assert second["version"] == "2"
        assert list((tmp_path / "server").rglob("predictors.json"))
        # Slashes as a browser's address has them; then both versions, from one process, for speed.
        with predictors_folder(f"runs://{second['run_id']}/predictors", address) as fetched:
            assert fetched is not None
            loaded = load_predictors(fetched)
        assert _functions(loaded) == _functions(result.predictors)
        assert loaded.networks == result.predictors.networks
        with Connection(address) as connection:
            for version in ("1", "2"):
                target = tmp_path / version
                target.mkdir()
                found = Path(connection.ask("download", uri=f"models:/board/{version}", folder=str(target)))
                assert {path.name: path.read_bytes() for path in found.iterdir()} == written
            with pytest.raises(TrackingError, match=r"Registered Model .*not found|version=7.*not found"):
                connection.ask("download", uri="models:/board/7", folder=str(tmp_path / "1"))

        # It dies in the middle: after the connection was made, before anything is logged.
        with tracker(address, "remote") as one:
            assert one._connection.answer() == second["experiment_id"]
            _end(process)
            with pytest.raises(TrackingError, match="not tracked: the server does not answer") as failed:
                one.log(result, training, folder)
    assert failed.value.exit_status == 1
    assert str(folder) in str(failed.value)
    assert _functions(load_predictors(folder)) == _functions(result.predictors)

    # The command line with the same server, which is gone: trained, written, told, and standard output is one JSON.
    again = tmp_path / "again"
    arguments = ["train", training, again, "--predictor", "mean", "--track", address, "--json"]
    ended = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert isinstance(ended.exception, TrackingError)
    assert json.loads(ended.stdout)["tracking"] is None
    assert _functions(load_predictors(again)) == _functions(result.predictors)


def _get(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=20) as answer:
        return json.load(answer)


@pytest.mark.parametrize("option", [("--register", "board"), ("--experiment", "mine")])
def test_what_is_registered_is_tracked(tmp_path: Path, option: tuple[str, str]) -> None:
    arguments = ["train", str(tmp_path), str(tmp_path), *option]
    with pytest.raises(EdgewattError, match="--track URI"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)
