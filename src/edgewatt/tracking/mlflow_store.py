"""What is asked of MLflow: log a training, fetch predictors. It runs in the process of `edgewatt.tracking.worker`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from mlflow.artifacts import download_artifacts
from mlflow.entities import Metric, Param
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

#: Where a run's predictors lie among its artifacts.
PREDICTORS = "predictors"

#: MLflow takes so many metrics or parameters in one request (its documentation of `log_batch`), and so long a value.
_MOST_METRICS = 1000
_MOST_PARAMETERS = 100
_LONGEST_PARAMETER = 6000


class MlflowStore:
    """One tracking server or database.

    Args:
        uri: The tracking URI.
    """

    def __init__(self, uri: str) -> None:
        self._client = MlflowClient(tracking_uri=uri, registry_uri=uri)

    def connect(self, experiment: str, artifacts: str | None) -> str:
        """Find or make an experiment.

        Args:
            experiment: Its name.
            artifacts: Where a new one keeps files; None for where the server does.

        Returns:
            Its identifier.
        """
        found = self._client.get_experiment_by_name(experiment)
        if found is None:
            try:
                return str(self._client.create_experiment(experiment, artifact_location=artifacts))
            except MlflowException:
                # Another training made it in between.
                found = self._client.get_experiment_by_name(experiment)
                if found is None:
                    raise
        if found.lifecycle_stage != "active":
            raise MlflowException(f"the experiment {experiment!r} is deleted there")
        return str(found.experiment_id)

    def log(
        self,
        experiment_id: str,
        *,
        parameters: Mapping[str, str],
        metrics: Mapping[str, float],
        tags: Mapping[str, str],
        folders: Mapping[str, str],
        register: str | None,
    ) -> dict[str, Any]:
        """Log one training as a run; the version is registered last, so that it is never of half a run.

        Args:
            experiment_id: The experiment.
            parameters: Parameters by name.
            metrics: Scores by name.
            tags: Tags by name.
            folders: Folder on this machine of each folder of artifacts; the empty name is the run's own.
            register: The registered model to add a version to; None for none.

        Returns:
            `run_id`, `experiment_id`, and `model` and `version` where one was registered.
        """
        run_id = str(self._client.create_run(experiment_id, tags=dict(tags)).info.run_id)
        try:
            self._log_values(run_id, parameters, metrics)
            for name, folder in folders.items():
                self._client.log_artifacts(run_id, folder, name or None)
            version = None if register is None else self._register(register, run_id, tags)
        except BaseException:
            self._client.set_terminated(run_id, "FAILED")
            raise
        self._client.set_terminated(run_id, "FINISHED")
        return {"run_id": run_id, "experiment_id": experiment_id, "model": register, "version": version}

    def download(self, uri: str, folder: str) -> str:
        """Fetch artifacts.

        Args:
            uri: `models:/NAME/VERSION`, `models:/NAME@alias` or `runs:/ID/path`.
            folder: An empty folder to write to.

        Returns:
            The folder below it that holds them.
        """
        return str(download_artifacts(artifact_uri=uri, dst_path=folder))

    def _log_values(self, run_id: str, parameters: Mapping[str, str], metrics: Mapping[str, float]) -> None:
        now_ms = int(time.time() * 1000)
        shortened = [Param(name, value[:_LONGEST_PARAMETER]) for name, value in parameters.items()]
        for part in _parts(shortened, _MOST_PARAMETERS):
            self._client.log_batch(run_id, params=part)
        values = [Metric(name, value, now_ms, 0) for name, value in metrics.items()]
        for part in _parts(values, _MOST_METRICS):
            self._client.log_batch(run_id, metrics=part)

    def _register(self, name: str, run_id: str, tags: Mapping[str, str]) -> str:
        try:
            self._client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        kept = {key: value for key, value in tags.items() if not key.startswith("mlflow.")}
        made = self._client.create_model_version(
            name, f"runs:/{run_id}/{PREDICTORS}", run_id=run_id, tags=kept, await_creation_for=None
        )
        return str(made.version)


def _parts(values: Sequence[Any], most: int) -> list[Sequence[Any]]:
    return [values[start : start + most] for start in range(0, len(values), most)]
