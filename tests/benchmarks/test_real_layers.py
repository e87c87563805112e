"""Measured convolutions become a training table that predictors learn from."""

from __future__ import annotations

import runpy
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from edgewatt.formats.engine_info import read_engine_info
from edgewatt.formats.training_tables import read_table, table_path, write_tables
from edgewatt.networks.engine import layers_from_engine
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.prediction import Status, load_predictors, predict
from edgewatt.predictors.training import train
from warm_processes import WarmProcesses

REPOSITORY = Path(__file__).parents[2]
DATA = REPOSITORY.parent / "shared" / "data"
SCRIPT = REPOSITORY / "benchmarks" / "real_layers.py"
CONV = LayerKind.CONVOLUTIONAL
HEADER = "data mean_power time forward_num energy silence_energy all_energy"
ROW = "1.0,8.0,9.0,9.0,1.0,4.0,5.0,5.0,8.0,4.0,3.0,3.0,2.0,2.0,1.0,1.0,1.0,1.0,2.0 5.0 4.0 2000 0.006 0.003 0.009"


Run = Callable[[Path, Path], subprocess.CompletedProcess[str]]


@pytest.fixture
def run(warm: WarmProcesses) -> Run:
    """Runs the script on a file of measurements and a folder to write to."""

    def run_script(measurements: Path, folder: Path) -> subprocess.CompletedProcess[str]:
        arguments = [str(SCRIPT), str(measurements), str(folder)]
        text = f"import runpy, sys; sys.argv = {arguments!r}; runpy.run_path(sys.argv[0], run_name='__main__')"
        return warm.run_python(text, measurements.parent)

    return run_script


def test_units_padding_and_void_rows(run: Run, tmp_path: Path) -> None:
    (tmp_path / "conv2d.txt").write_text("\n".join([HEADER, ROW, "0 0 0 0 0 0 0", *[ROW] * 11]))
    done = run(tmp_path / "conv2d.txt", tmp_path / "training")
    assert done.returncode == 0, done.stderr
    assert "12 convolutions written, 1 void row(s) skipped" in done.stdout
    table = read_table(table_path(tmp_path / "training" / "neurstrucenergy", CONV), CONV)
    row = table.row(0, named=True)
    # 4 s for 2000 passes are 2 ms; 6 mJ in 2 ms are 3 W, and 3 mJ of idle 1.5 W.
    assert (row["runtime"], row["power"], row["idle_power_w"]) == (2.0, pytest.approx(3e6), 1.5)
    assert (row["padding_0"], row["stride_1"], row["groups"], row["kernel_0"]) == (2, 2, 2, 3)
    assert row["macs"] == 4 * 5 * 5 * 4 * 9
    assert (row["weight_bytes"], row["input_bytes"], row["output_bytes"]) == (4 * 144, 4 * 648, 4 * 100)


@pytest.mark.parametrize("line", ["1.0,2.0 5 4 2000 1 1 1", ROW.rsplit(" ", 4)[0], ROW.replace("2000", "0")])
def test_broken_rows_name_their_line(run: Run, tmp_path: Path, line: str) -> None:
    (tmp_path / "conv2d.txt").write_text("\n".join([HEADER, ROW, line]))
    done = run(tmp_path / "conv2d.txt", tmp_path / "training")
    assert done.returncode == 2
    assert "conv2d.txt, line 3" in done.stderr
    assert "Traceback" not in done.stderr


def test_too_few_rows(run: Run, tmp_path: Path) -> None:
    (tmp_path / "conv2d.txt").write_text("\n".join([HEADER, ROW]))
    done = run(tmp_path / "conv2d.txt", tmp_path / "training")
    assert done.returncode == 2
    assert "1 measurements are too few" in done.stderr


def test_real_measurements_train_and_predict_a_real_engine(tmp_path: Path) -> None:
    measurements = DATA / "layers" / "neurstrucenergy" / "conv2d.txt"
    engine = DATA / "engines" / "orin_nano" / "resnet18.engine_info.json"
    if not measurements.exists() or not engine.exists():
        pytest.skip("the measured layers and engines are not beside the repository")
    script = runpy.run_path(str(SCRIPT))
    read = script["read_measurements"](measurements)
    assert (read.table.height, read.void_rows) == (999, 1)
    write_tables(tmp_path / "training" / "neurstrucenergy", {CONV: read.table})
    metrics = train(tmp_path / "training", tmp_path / "predictors").metrics["convolutional"]
    # NeuralPower's polynomial with errors that are not relative has about 55 % on these runtimes; the mean has 73 %.
    assert metrics["runtime"]["cv"]["mape"] < 0.25
    assert metrics["power"]["cv"]["mape"] < 0.17
    assert metrics["power"]["baselines"]["mean"]["cv"]["mape"] > 0.3
    layers = layers_from_engine(read_engine_info(engine).layers, str(engine))
    found = predict(layers, load_predictors(tmp_path / "predictors"))
    assert {layer.kind for layer in found.layers if layer.status is Status.PREDICTED} == {CONV}
    assert found.predicted_layers == 20
    assert found.uncovered_macs_share < 0.001
    assert 0.5 < (found.power_above_idle_w or 0.0) < 7.0
