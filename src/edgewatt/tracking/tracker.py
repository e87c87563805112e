"""Trainings logged to MLflow: what they were made of, how good they are, and the predictors themselves."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgewatt.formats.json_file import read_json
from edgewatt.predictors.folder import CARD, METRICS
from edgewatt.predictors.training import TrainingResult
from edgewatt.tracking.connection import Connection, TrackingError, artifact_location, shown_uri
from edgewatt.tracking.figures import figures_page, training_figures
from edgewatt.tracking.record import metrics, parameters, tags

#: The experiment of trainings where none is named.
DEFAULT_EXPERIMENT = "edgewatt"

_PREDICTORS = "predictors"


@dataclass(frozen=True)
class TrackedTraining:
    """Where a training was logged.

    Attributes:
        uri: The tracking URI, without a password.
        experiment: The experiment's name.
        experiment_id: Its identifier.
        run_id: The run.
        model: The registered model; None where none was asked for.
        version: Its version that these predictors are.
    """

    uri: str
    experiment: str
    experiment_id: str
    run_id: str
    model: str | None
    version: str | None

    @property
    def predictors(self) -> str:
        """What `--predictors` takes to load them."""
        return f"runs:/{self.run_id}/{_PREDICTORS}" if self.model is None else f"models:/{self.model}/{self.version}"

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "uri": self.uri,
            "experiment": self.experiment,
            "experiment_id": self.experiment_id,
            "run_id": self.run_id,
            "model": self.model,
            "version": self.version,
            "predictors": self.predictors,
        }


class Tracker:
    """Logs trainings to one experiment; made by `tracker`."""

    def __init__(self, connection: Connection, experiment: str, register: str | None) -> None:
        self._connection = connection
        self._experiment = experiment
        self._register = register
        self._connect = {"experiment": experiment, "artifacts": artifact_location(connection.uri)}
        connection.send("connect", **self._connect)

    def log(self, result: TrainingResult, training_dir: Path, predictors_dir: Path) -> TrackedTraining:
        """Log a training whose predictors are on disk already.

        Args:
            result: The training.
            training_dir: The tables that it was of.
            predictors_dir: The folder that it wrote.

        Raises:
            TrackingError: MLflow failed; the predictors stay where they are.
        """
        card = (predictors_dir / CARD).read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory(prefix="edgewatt-") as name:
            figures = Path(name) / "figures"
            figures.mkdir()
            page = figures_page("Predictors, layers left out", training_figures(result))
            (figures / "layers.html").write_text(page, encoding="utf-8")
            try:
                done = self._connection.ask(
                    "log",
                    experiment_id=self._experiment_id(),
                    parameters=parameters(result, training_dir),
                    metrics=metrics(read_json(predictors_dir / METRICS)),
                    tags=tags(result, card),
                    folders={_PREDICTORS: str(predictors_dir), "figures": str(figures)},
                    register=self._register,
                )
            except TrackingError as error:
                raise TrackingError(
                    f"the training is not tracked: {error.what}",
                    where=error.where,
                    fix=f"The predictors are in {predictors_dir}; train again to track them",
                ) from error
        return TrackedTraining(shown_uri(self._connection.uri), self._experiment, **done)

    def _experiment_id(self) -> str:
        """The experiment; asked once more where the server did not answer at the beginning."""
        try:
            return str(self._connection.answer())
        except TrackingError:
            self._connection.send("open", uri=self._connection.uri)
            return str(self._connection.ask("connect", **self._connect))


@contextmanager
def tracker(uri: str, experiment: str = DEFAULT_EXPERIMENT, register: str | None = None) -> Iterator[Tracker]:
    """Get ready to log a training; MLflow starts while the block trains.

    Args:
        uri: Tracking URI: `http://HOST:PORT` of a server, or `sqlite:///FILE`.
        experiment: The experiment to log to; it is made where there is none.
        register: Name of the registered model that the predictors become a version of; None to register none.

    Raises:
        EdgewattError: MLflow is not installed, or the URI is none.
    """
    with Connection(uri) as connection:
        yield Tracker(connection, experiment, register)
