"""The whole flow on the simulated board, and how near its predictions come to the known truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from edgewatt.dataset.run import build_dataset
from edgewatt.formats.csv_file import read_csv
from edgewatt.formats.network_info import FILE_NAME as NETWORK_FILE
from edgewatt.formats.network_info import read_network_info
from edgewatt.mapping.run import map_recordings
from edgewatt.networks.architectures import network_layers
from edgewatt.predictors.folder import Predictors
from edgewatt.predictors.prediction import NetworkPrediction, predict, write_predictions
from edgewatt.predictors.training import TrainingResult, train
from edgewatt.simulation.board import find_board
from edgewatt.simulation.cycles import CycleSettings
from edgewatt.simulation.simulate import simulate

BOARD = "orin-nano"
HELD_OUT = ("lenet", "resnet18", "vgg16")
TRAINED_ON = (
    "alexnet",
    "googlenet",
    "mnasnet1_0",
    "mobilenet_v2",
    "resnet34",
    "resnet50",
    "squeezenet1_0",
    "squeezenet1_1",
    "vgg11",
    "vgg13",
)


@dataclass(frozen=True)
class DemoRow:
    """One held-out network: what was predicted, and what the simulated board really took.

    Energies and runtimes are of the layers that predictors cover, energies with idle power.

    Attributes:
        network: The network.
        covered_time_share: Share of the network's true time that the covered layers take.
        predicted_runtime_s: Predicted runtime.
        true_runtime_s: True runtime.
        predicted_energy_j: Predicted energy.
        true_energy_j: True energy.
        energy_error: (predicted - true) / true.
        baseline_error: The same, when each layer is predicted by its kind's mean.
        network_energy_j: True energy of the whole network.
        executed_layers: Number of its layers.
        extrapolated_layers: Number of them that are unlike those trained on.
        cycle_energy_j: Predicted energy of a whole cycle, with what lies between the layers.
        cycle_low_j: Lower end of its 90 % interval.
        cycle_high_j: Upper end.
        true_cycle_j: What it really took.
    """

    network: str
    covered_time_share: float
    predicted_runtime_s: float
    true_runtime_s: float
    predicted_energy_j: float
    true_energy_j: float
    energy_error: float
    baseline_error: float
    network_energy_j: float
    executed_layers: int
    extrapolated_layers: int
    cycle_energy_j: float | None
    cycle_low_j: float | None
    cycle_high_j: float | None
    true_cycle_j: float | None

    def to_dict(self) -> dict[str, object]:
        """The row for machines."""
        return asdict(self)


@dataclass(frozen=True)
class DemoResult:
    """What the demo made.

    Attributes:
        rows: One entry for each held-out network.
        training: What was trained.
        folder: Where everything was written.
    """

    rows: list[DemoRow]
    training: TrainingResult
    folder: Path


def run_demo(folder: Path, *, cycles: int = 3000, seed: int = 0, progress: Callable[[str], None]) -> DemoResult:
    """Simulate, map, make tables, train and predict.

    Args:
        folder: Where to write; it holds raw_data/, preprocessed_data/, training_data/, predictors/ and
            predictions/ afterwards.
        cycles: Cycles of each recording.
        seed: Seed of the simulation.
        progress: Called with each step's name before its turn.
    """
    raw, preprocessed, training = folder / "raw_data", folder / "preprocessed_data", folder / "training_data"
    networks = [*TRAINED_ON, *HELD_OUT]
    simulate(raw, networks, board=BOARD, cycles=cycles, seed=seed, progress=lambda name: progress(f"simulate {name}"))
    mapped = map_recordings(raw, preprocessed, models=networks, progress=lambda name: progress(f"map {name}"))
    for error in mapped.failed.values():
        raise error
    tables = build_dataset(preprocessed, training, models=networks, progress=lambda name: progress(f"dataset {name}"))
    for error in tables.failed.values():
        raise error
    result = train(training, folder / "predictors", holdout=HELD_OUT, progress=lambda name: progress(f"train {name}"))
    baseline = train(training, folder / "predictors_mean", holdout=HELD_OUT, predictor="mean")
    rows = [_compare(name, result.predictors, baseline.predictors, folder) for name in HELD_OUT]
    return DemoResult(rows, result, folder)


def _compare(network: str, predictors: Predictors, baseline: Predictors, folder: Path) -> DemoRow:
    layers = network_layers(folder / "raw_data" / network / "trt_profiling" / "trt_engine_info.json")
    prediction = predict(layers, predictors)
    write_predictions(folder / "predictions" / f"{network}.csv", prediction)
    truth = read_csv(folder / "raw_data" / "truth" / f"{network}.csv", _TRUTH)
    covered = [layer.layer.name for layer in prediction.layers if layer.covered]
    of_covered = truth.filter(pl.col("layer_name").is_in(covered))
    true_energy_j = float(of_covered["energy_mj"].sum()) / 1e3
    predicted_j = _energy_j(prediction)
    whole = prediction.whole
    ends = None if whole is None else whole.energy_interval_j
    return DemoRow(
        network=network,
        covered_time_share=float(of_covered["runtime_ms"].sum()) / float(truth["runtime_ms"].sum()),
        predicted_runtime_s=prediction.runtime_s,
        true_runtime_s=float(of_covered["runtime_ms"].sum()) / 1e3,
        predicted_energy_j=predicted_j,
        true_energy_j=true_energy_j,
        energy_error=predicted_j / true_energy_j - 1,
        baseline_error=_energy_j(predict(layers, baseline)) / true_energy_j - 1,
        network_energy_j=float(truth["energy_mj"].sum()) / 1e3,
        executed_layers=len(prediction.layers) - prediction.free_layers,
        extrapolated_layers=prediction.extrapolated_layers,
        cycle_energy_j=None if whole is None else whole.energy_j,
        cycle_low_j=None if ends is None else ends.low,
        cycle_high_j=None if ends is None else ends.high,
        true_cycle_j=_true_cycle_j(folder / "training_data" / network / NETWORK_FILE, truth),
    )


def _true_cycle_j(path: Path, truth: pl.DataFrame) -> float | None:
    """The layers' true energy, and that of the rest of the call, in which the board draws what it does in gaps."""
    runtime_s = read_network_info(path).runtime_s
    if runtime_s is None:
        return None
    gaps_w = find_board(BOARD).idle_power_w + CycleSettings().gap_power_w
    gaps_s = runtime_s - float(truth["runtime_ms"].sum()) / 1e3
    return float(truth["energy_mj"].sum()) / 1e3 + gaps_w * gaps_s


def _energy_j(prediction: NetworkPrediction) -> float:
    including = prediction.energy_including_idle_j
    return (prediction.energy_above_idle_j or 0.0) if including is None else including


_TRUTH: dict[str, type[pl.DataType]] = {
    "layer_name": pl.String,
    "runtime_ms": pl.Float64,
    "power_w": pl.Float64,
    "energy_mj": pl.Float64,
}
