"""What the command does where standard output or the file system refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from edgewatt.batch import run_batch
from edgewatt.cli_output import exit_status
from edgewatt.errors import EdgewattError
from edgewatt.predictors.budget import Budget
from recording_builder import CONV, RecordingBuilder

COMMAND = Path(sys.executable).parent / "edgewatt"


def shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["/bin/bash", "-c", line.replace("edgewatt", str(COMMAND), 1)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
        timeout=120,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("command", ["layers lenet", "layers lenet --json"])
def test_standard_output_that_is_closed(command: str) -> None:
    assert shell(f"edgewatt {command} >&-").returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("command", ["layers lenet", "layers lenet --json", "--version"])
def test_standard_output_that_is_full(command: str) -> None:
    done = shell(f"edgewatt {command} >/dev/full")
    assert done.returncode == 2
    assert done.stderr.startswith("error: standard output: No space left on device. Free space")


def test_an_encoding_that_lacks_characters() -> None:
    done = shell("edgewatt layers lenet", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "7 layers" in done.stdout


def test_numbers_are_not_cut_on_a_narrow_terminal() -> None:
    assert "1x32x32" in shell("edgewatt layers lenet", COLUMNS="20").stdout


@pytest.mark.parametrize("command", ["layers {}", "map {} out", "dataset {} out", "train {} out"])
def test_a_name_that_is_too_long(command: str) -> None:
    done = shell(f"edgewatt {command.format('a' * 5000)}")
    assert done.returncode == 2
    assert done.stderr.endswith("File name too long. Choose a shorter name\n")


def test_an_engine_of_impossible_size(tmp_path: Path) -> None:
    entry = json.loads(json.dumps(CONV))
    entry["Outputs"][0]["Dimensions"] = [1, 4, 2**62, 8]
    (tmp_path / "engine.json").write_text(json.dumps({"Layers": [entry]}))
    done = shell(f"edgewatt layers {tmp_path / 'engine.json'} --json")
    assert done.returncode == 2
    assert "layer 'conv0': its sizes are beyond what any board can hold" in done.stderr
    assert done.stdout == ""


def test_a_folder_of_another_encoding(builder: Callable[..., RecordingBuilder], tmp_path: Path) -> None:
    made = builder().write()
    made.raw_dir.rename(tmp_path / os.fsdecode(b"raw\xff"))
    done = shell(f"edgewatt map {tmp_path}/raw$'\\xff' {tmp_path}/pre --method window")
    assert done.returncode == 0, done.stderr
    assert "6250000.0" in (tmp_path / "pre/net/power_runtime_mapping_layerwise.csv").read_text()


def test_a_refusal_of_the_system_fails_its_network_alone() -> None:
    def work(name: str) -> str:
        if name == "locked":
            raise PermissionError(13, "Permission denied", "locked/file")
        return name

    batch = run_batch(["locked", "open"], str, work)
    assert batch.done == ["open"]
    assert str(batch.failed["locked"]).startswith("locked/file: Permission denied. Ask for the right to it")
    assert isinstance(batch.failed["locked"], EdgewattError)


@pytest.mark.parametrize("name", ["[/].json", "[bold]x/y.json", "\x1b[31m/z.json"])
def test_a_file_name_that_looks_like_markup(tmp_path: Path, name: str) -> None:
    (tmp_path / name.partition("/")[0]).mkdir()
    (tmp_path / name).write_text(json.dumps({"Layers": [CONV]}))
    done = subprocess.run(
        [COMMAND, "layers", name], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(name.replace("\x1b", "\\x1b"))


def test_a_budget_that_is_no_number() -> None:
    done = shell("edgewatt predict lenet --predictors none --max-power-w nan")
    assert done.returncode == 2
    with pytest.raises(EdgewattError, match="the limit max_power_w is not a number"):
        Budget(max_power_w=float("nan"))


@pytest.mark.parametrize("error", [MemoryError("Unable to allocate 5 TiB"), FileNotFoundError(2, "gone", "here")])
def test_what_the_library_did_not_expect(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        raise error

    assert exit_status(fails) == 2
    told = capsys.readouterr().err
    assert told in (
        "error: not enough memory: Unable to allocate 5 TiB. Take fewer cycles\n",
        "error: here: gone. Check the path\n",
    )


def test_control_characters_of_names_do_not_reach_the_terminal() -> None:
    assert str(EdgewattError("no network a\x1b[31mb", where="c\nd", fix="e\x07")) == (
        "c\\nd: no network a\\x1b[31mb. e\\x07"
    )


def test_markup_in_a_progress_bar() -> None:
    """A network called `[/]` would end the bar with an error."""
    script = (
        "from edgewatt.reports.progress import progress_bar\n"
        "with progress_bar('Mapping') as step:\n    step('[/]')\n    step('[bold]')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, "FORCE_COLOR": "1", "TTY_COMPATIBLE": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
