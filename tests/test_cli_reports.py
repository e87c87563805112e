"""`edgewatt report` and `edgewatt compare`, as a user runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import edgewatt

# Its recordings are made once.
pytestmark = [pytest.mark.xdist_group("cli_reports"), pytest.mark.usefixtures("warm_command")]

#: What runs it; it need not import everything anew each time.
COMMAND = Path(sys.executable).parent / "edgewatt"


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "80", **environment})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings of networks in two precisions, and what they were mapped to."""
    root = tmp_path_factory.mktemp("results")
    for name, precision in (("half", "float16"), ("int8", "int8")):
        done = run("simulate", root / name, "--networks", "lenet,alexnet", "--cycles", "300", "--dtype", precision)
        assert done.returncode == 0, done.stderr
    assert run("map", root / "half", root / "mapped").returncode == 0
    assert run("map", root / "int8", root / "mapped8", "--networks", "alexnet").returncode == 0
    return root


def test_report_of_recordings_and_a_mapped_folder(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    done = run("report", folder / "half", folder / "mapped" / "lenet", "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert value["report"] == str(out)
    # lenet's recording and what it was mapped to are one result.
    assert value["results"] == [
        {"name": "alexnet", "source": "recording"},
        {"name": "lenet", "source": "recording"},
    ]
    html = out.read_text()
    assert html.startswith("<!DOCTYPE html>")
    assert html.rstrip().endswith("</html>")
    assert "Simulated: nothing here was measured" in html


def test_report_goes_on_after_a_broken_one(folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "mapped" / "broken"
    broken.mkdir(parents=True)
    (broken / "layer_power.csv").write_text("layer_name\n")
    done = run("report", folder / "mapped" / "lenet", tmp_path / "mapped", "--out", tmp_path / "page.html")
    assert done.returncode == 1
    assert "failed: " in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "page.html").exists()


def test_report_of_nothing_writes_nothing(tmp_path: Path) -> None:
    done = run("report", tmp_path, "--out", tmp_path / "page.html")
    assert done.returncode == 2
    assert "holds no recording and no mapped network" in done.stderr
    assert not (tmp_path / "page.html").exists()


def test_compare_with_itself_is_within_the_noise(folder: Path) -> None:
    done = run("compare", folder / "half" / "lenet", folder / "half" / "lenet", "--json")
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert value["totals"]["energy_mj"]["difference"] == 0.0
    assert [layer["energy_mj"]["beyond_noise"] for layer in value["layers"] if layer["energy_mj"]["beyond_noise"]] == []
    # The runtimes' noise is known, of mapped networks too, and Python says the same.
    assert all(layer["runtime_ms"]["beyond_noise"] is False for layer in value["layers"])
    lenet = edgewatt.read_result(folder / "half" / "lenet")
    mapped = edgewatt.read_result(folder / "mapped" / "lenet")
    for first, second in zip(lenet.layers, mapped.layers, strict=True):
        assert first.runtime_s is not None
        assert second.runtime_s is not None
        assert second.runtime_s.low == pytest.approx(first.runtime_s.low)
    assert json.loads(json.dumps(edgewatt.compare_results(lenet, lenet).to_dict())) == value


def test_compare_refuses_another_precision_unless_forced(folder: Path) -> None:
    half, int8 = folder / "mapped" / "alexnet", folder / "mapped8" / "alexnet"
    refused = run("compare", half, int8)
    assert refused.returncode == 2
    assert "different precision: float16, int8" in refused.stderr
    assert refused.stdout == ""
    forced = run("compare", half, int8, "--force")
    assert forced.returncode == 0
    assert "take care: different precision" in forced.stdout
    assert max(len(line) for line in forced.stdout.splitlines() if "Conv" in line) <= 80
    # int8 is faster on the simulated board, so the way back is an increase.
    assert run("compare", half, int8, "--force", "--fail-on-increase", "5").returncode == 0
    slower = run("compare", int8, half, "--force", "--fail-on-increase", "5")
    assert slower.returncode == 1
    assert "the energy rose by more than 5 %" in slower.stderr


def test_predictions_come_with_bars_most_energy_first_or_in_order(tmp_path: Path) -> None:
    common = ("predict", "alexnet", "--board", "orin-nano", "--out", tmp_path / "p.csv")
    by_energy, in_order = run(*common), run(*common, "--sort", "order")
    assert by_energy.returncode == in_order.returncode == 0, by_energy.stderr

    def shares(text: str) -> list[float]:
        rows = [line for line in text.splitlines() if line.startswith(("/", "…"))]
        return [float(line.rsplit(None, 1)[-1].rstrip("%")) for line in rows]

    assert len(shares(by_energy.stdout)) == 11
    assert shares(by_energy.stdout) == sorted(shares(by_energy.stdout), reverse=True)
    assert sorted(shares(in_order.stdout), reverse=True) == shares(by_energy.stdout) != shares(in_order.stdout)
    assert "████████" in by_energy.stdout
    assert "\x1b" not in by_energy.stdout
    plain = run(*common, PYTHONIOENCODING="ascii:replace")
    assert "########" in plain.stdout
    assert "█" not in plain.stdout
    assert run(*common, "--sort", "colour").returncode == 2
    # A narrow terminal that wants no colours.
    narrow = run(*common, COLUMNS="40", FORCE_COLOR="1", NO_COLOR="1").stdout
    rows = [line for line in narrow.splitlines() if line.startswith(("/", "…"))]
    assert len(rows) == 11
    assert max(map(len, rows)) <= 40
    assert "left out in a narrow terminal: kind, W" in narrow
    # 30 to 37 are colours; 3 alone is italic.
    assert not re.search(r"\x1b\[3\d", narrow)
