"""Tracking where MLflow, the server or the predictors are not there."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.tracking.connection import artifact_location, check_mlflow, checked_uri, environment, shown_uri
from edgewatt.tracking.sources import predictors_folder


def test_without_mlflow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EdgewattError, match=r"pip install 'edgewatt\[tracking\]'"):
        check_mlflow()


def test_a_uri_has_a_scheme() -> None:
    assert checked_uri("sqlite:///mlflow.db") == "sqlite:///mlflow.db"
    assert checked_uri("postgresql+psycopg2://me@host/mlflow") == "postgresql+psycopg2://me@host/mlflow"
    for wrong in ("mlflow.db", "/data/mlflow.db", "", "htp://host:5000", "C:\\mlflow.db", "sqlite"):
        with pytest.raises(EdgewattError, match="no tracking URI"):
            checked_uri(wrong)


def test_a_database_that_cannot_be_opened_is_told_of_at_once(tmp_path: Path) -> None:
    for wrong in (tmp_path, tmp_path / "none" / "x.db"):
        with pytest.raises(EdgewattError, match="the database cannot be opened"):
            checked_uri(f"sqlite:///{wrong}")
    checked_uri(f"sqlite:///{tmp_path}/new.db")
    assert list(tmp_path.iterdir()) == []


def test_passwords_are_not_shown() -> None:
    assert shown_uri("https://me:secret@host:5000/path") == "https://host:5000/path"
    assert shown_uri("sqlite:///a@b.db") == "sqlite:///a@b.db"


def test_artifacts_lie_beside_an_sqlite_database(tmp_path: Path) -> None:
    assert artifact_location(f"sqlite:///{tmp_path}/runs.db") == (tmp_path / "runs-artifacts").as_uri()
    assert artifact_location("http://host:5000") is None


def test_a_folder_is_a_folder(tmp_path: Path) -> None:
    with predictors_folder(str(tmp_path)) as found:
        assert found == tmp_path
    with predictors_folder("runs") as found:
        assert found == Path("runs")
    with predictors_folder(None) as found:
        assert found is None


def test_what_mlflow_keeps_needs_a_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with (
        pytest.raises(EdgewattError, match=r"models:/board/1 is kept by MLflow.*MLFLOW_TRACKING_URI"),
        predictors_folder("models:/board/1"),
    ):
        pass
    # A database that is not there is not made to look into it.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/none.db")
    with pytest.raises(EdgewattError, match="no such database"), predictors_folder("runs:/1/predictors"):
        pass
    assert not list(tmp_path.iterdir())


def test_mlflow_reports_to_nobody_and_gives_up_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "false")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "5")
    found = environment("http://host")
    assert (found["MLFLOW_DISABLE_TELEMETRY"], found["DO_NOT_TRACK"]) == ("true", "true")
    # What concerns the user's own server is the user's.
    assert found["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "5"
    assert found["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "2"
    assert found["MLFLOW_TRACKING_URI"] == found["MLFLOW_REGISTRY_URI"] == "http://host"
