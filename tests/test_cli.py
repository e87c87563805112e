"""The installed command, end to end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from edgewatt import demo
from edgewatt.cli import app
from recording_builder import RecordingBuilder

INSTALLED = Path(sys.executable).parent / "edgewatt"
#: What runs it; most tests need not import everything anew.
COMMAND = INSTALLED
pytestmark = pytest.mark.usefixtures("warm_command")


def edgewatt(*arguments: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command; whatever happens, no traceback may be seen."""
    environment = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, text=True, env=environment, check=False, timeout=240
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the whole flow has been run on four simulated networks."""
    folder = tmp_path_factory.mktemp("flow")
    networks = "squeezenet1_1,resnet18,alexnet,lenet"
    edgewatt("simulate", folder / "raw", "--networks", networks, "--cycles", "600", "--seed", "3")
    edgewatt("map", folder / "raw", folder / "pre", "--method", "window")
    edgewatt("dataset", folder / "pre", folder / "train", "--min-samples", "1")
    edgewatt("train", folder / "train", folder / "predictors", "--holdout", "resnet18")
    return folder


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys, edgewatt.cli; print(sorted({'polars', 'numpy', 'sklearn', 'onnx', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert "simulate" in edgewatt("--help").stdout
    assert edgewatt("--version").stdout.startswith("edgewatt ")


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "edgewatt", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == edgewatt("--version").stdout


def test_the_flow_leaves_the_files_of_the_contract(flow: Path) -> None:
    expected = {
        "raw": [
            "idling_power.json",
            "truth/resnet18.csv",
            "resnet18/run.json",
            "resnet18/resnet18_tensorrt.json",
            "resnet18/resnet18_power_log.log",
            "resnet18/trt_profiling/trt_layer_latency.json",
        ],
        "pre": ["resnet18/power_runtime_mapping_layerwise.csv", "resnet18/layer_power.csv", "resnet18/mapping.json"],
        "train": [f"resnet18/{kind}.csv" for kind in ("convolutional", "pooling", "dense", "other")],
        "predictors": ["metrics.json", "card.md", "convolutional_power.json", "pooling_runtime.json"],
    }
    for folder, files in expected.items():
        for name in files:
            assert (flow / folder / name).is_file(), f"{folder}/{name}"


def test_metrics_hold_scores_and_baselines(flow: Path) -> None:
    metrics = json.loads((flow / "predictors/metrics.json").read_text())
    entry = metrics["convolutional"]["runtime"]
    assert entry["predictor"] == "physics"
    assert set(entry["cv"]) >= {"mape", "rmspe", "rmse", "mae", "r2", "rows", "networks", "grouping"}
    assert entry["cv"]["grouping"] == "row"
    assert entry["test"]["networks"] == 1
    assert entry["cv"]["mape"] < entry["baselines"]["mean"]["cv"]["mape"]


def test_predict_an_engine(flow: Path, tmp_path: Path) -> None:
    engine = flow / "raw/resnet18/trt_profiling/trt_engine_info.json"
    arguments = ("predict", engine, "--predictors", flow / "predictors", "--out", tmp_path / "p.csv")
    text = edgewatt(*arguments).stdout
    assert "mean power" in text
    value = json.loads(edgewatt(*arguments, "--json").stdout)
    table = pl.read_csv(tmp_path / "p.csv")
    assert table.columns[:5] == [
        "layer_name",
        "layer_type",
        "power_prediction (W)",
        "runtime_prediction (ms)",
        "energy_prediction (mJ)",
    ]
    totals = value["totals"]
    assert totals["runtime_ms"] == pytest.approx(table["runtime_prediction (ms)"].sum())
    assert totals["energy_above_idle_mj"] == pytest.approx(table["energy_prediction (mJ)"].sum())
    assert totals["power_above_idle_w"] == pytest.approx(totals["energy_above_idle_mj"] / totals["runtime_ms"])
    truth = pl.read_csv(flow / "raw/truth/resnet18.csv")
    assert totals["runtime_ms"] == pytest.approx(truth["runtime_ms"].sum(), rel=0.5)


def test_a_budget_that_is_exceeded_fails(flow: Path, tmp_path: Path) -> None:
    arguments = ("predict", "resnet18", "--predictors", flow / "predictors", "--out", tmp_path / "p.csv")
    done = edgewatt(*arguments, "--max-energy-mj", "0.001", "--max-runtime-ms", "1000", status=1)
    assert "energy" in done.stderr
    assert "runtime" not in done.stderr.replace("max-runtime", "")
    edgewatt(*arguments, "--max-energy-mj", "1e6")


def test_layers_of_an_architecture() -> None:
    value = json.loads(edgewatt("layers", "alexnet", "--json").stdout)
    assert value["totals"]["dense_layers"] == 3
    first = value["layers"][0]
    assert (first["kernel"], first["stride"], first["output"]) == ([11, 11], [4, 4], [1, 64, 55, 55])
    assert "mobilenet_v2" in edgewatt("layers", "--list").stdout


def test_part_of_a_batch_fails(builder: Callable[..., RecordingBuilder], tmp_path: Path) -> None:
    broken = builder("broken").write()
    broken.log_path.write_text("20241121-05:20:04.1,5000.0\n" * 2)
    builder("good").write()
    done = edgewatt("map", broken.raw_dir, tmp_path / "pre", "--method", "window", "--json", status=1)
    assert "failed: broken:" in done.stderr
    assert "line 1: 2 fields instead of 3" in done.stderr
    value = json.loads(done.stdout)
    assert [network["model"] for network in value["networks"]] == ["good"]
    assert [network["model"] for network in value["failed"]] == ["broken"]
    edgewatt("map", broken.raw_dir, tmp_path / "pre", "--method", "window", "--networks", "broken", status=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["map", "nowhere", "out"], "no such folder"),
        (["dataset", "nowhere", "out"], "no such folder"),
        (["train", "nowhere", "out"], "nowhere"),
        (["predict", "resnet1x"], "Did you mean"),
        (["predict", "resnet18", "--predictors", "nowhere"], "nowhere"),
        (["layers", "nothing.onnx"], "no such file"),
        (["layers"], "no network is named"),
        (["simulate", "out", "--networks", "resnet18,what"], "what"),
        (["simulate", "out", "--networks", "lenet", "--board", "what"], "what"),
        (["simulate", "out", "--networks", "lenet", "--dtype", "float1"], "float1"),
        (["map", ".", "out", "--method", "guess"], "guess"),
        (["frobnicate"], "No such command"),
        (["simulate", "out", "--cycles", "0"], "cycles"),
    ],
)
def test_wrong_usage_says_what_is_wrong(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = edgewatt(*arguments, status=2)
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_warnings_go_to_standard_error(builder: Callable[..., RecordingBuilder], tmp_path: Path) -> None:
    made = builder().write()
    made.log_path.write_text(made.log_path.read_text() + "20241121-05:2")
    done = edgewatt("map", made.raw_dir, tmp_path / "pre", "--method", "window", "--json")
    assert "warning:" in done.stderr
    assert "cut short" in done.stderr
    assert json.loads(done.stdout)["networks"][0]["energy_closure"] is not None


def test_output_that_nobody_reads() -> None:
    done = subprocess.run(
        f"{INSTALLED} layers densenet121 | head -1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr


def test_demo_is_marked_as_simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # With fewer networks than it has; the whole of it is run by the page of commands.
    monkeypatch.setattr(demo, "TRAINED_ON", ("alexnet", "squeezenet1_1", "vgg11"))
    monkeypatch.setattr(demo, "HELD_OUT", ("lenet", "resnet18"))
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo"), "--cycles", "300"])
    assert done.exit_code == 0, done.output
    assert "SIMULATED" in done.stdout
    for network in ("lenet", "resnet18"):
        assert network in done.stdout
    page = (tmp_path / "demo/report.html").read_text()
    assert "simulated orin-nano" in page
    assert "Content-Security-Policy" in page


def test_the_default_method_recovers_layer_power(flow: Path, tmp_path: Path) -> None:
    """600 cycles: the network's energy is right, and layers are far nearer the truth than the window method's."""
    truth = pl.read_csv(flow / "raw/truth/resnet18.csv").drop_nulls("power_above_idle_w")
    errors = {}
    for method in ("deconvolve", "window"):
        edgewatt("map", flow / "raw", tmp_path / method, "--networks", "resnet18", "--method", method)
        layers = pl.read_csv(tmp_path / method / "resnet18/layer_power.csv").join(
            truth, on="layer_name", suffix="_true"
        )
        error = (layers["power_above_idle_w"] / layers["power_above_idle_w_true"] - 1).abs()
        errors[method] = float(error.median())  # type: ignore[arg-type]
    assert errors["deconvolve"] < 0.5 * errors["window"]
    assert not (tmp_path / "deconvolve/resnet18/power_runtime_mapping_layerwise.csv").exists()
