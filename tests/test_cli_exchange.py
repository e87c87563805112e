"""The commands that exchange files with other tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from edgewatt.cli import app
from edgewatt.errors import EdgewattError
from recording_builder import RecordingBuilder
from trace_checker import read_trace


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, EdgewattError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_export_says_what_it_wrote(tmp_path: Path, builder: Callable[..., RecordingBuilder]) -> None:
    builder().write()
    out = tmp_path / "cycles.csv"
    assert run("export", tmp_path / "raw/net", out) == f"a recording as csv, 2 rows: {out}\n"
    assert pl.read_csv(out).height == 2
    printed = run(
        "export", tmp_path / "raw/net", tmp_path / "t.json", "--format", "perfetto", "--cycles", "1", "--json"
    )
    value = json.loads(printed)
    assert value == {"path": str(tmp_path / "t.json"), "format": "perfetto", "source": "a recording", "rows": 15}
    assert len(read_trace(tmp_path / "t.json").slices["layers"]) == 2


def test_convert_says_what_it_wrote(tmp_path: Path) -> None:
    source, out = tmp_path / "tegrastats.log", tmp_path / "net_power_log.log"
    source.write_text("RAM 1/2MB A 1/1 B 20/20 C 300/300\n" * 3)
    options = ("--rails", "A,C", "--start", "20241121-05:20:04", "--interval", "500", "--json")
    value = json.loads(run("convert", source, out, "--from", "tegrastats", "--to", "power-log", *options))
    assert value["notes"] == ["The board's input is A + C: named by the user"]
    assert (value["from"], value["to"], value["rows"]) == ("tegrastats", "power-log", 3)
    assert out.read_text().splitlines()[2] == "20241121-05:20:05.000000,1000.0,301.0"
    assert "tegrastats as table, 3 rows" in run("convert", source, tmp_path / "t.csv", *options[2:-1])


def test_errors_name_the_file_and_what_to_do(tmp_path: Path) -> None:
    source = tmp_path / "engine.json"
    source.write_text('{"Layers": ["a"]}')
    with pytest.raises(EdgewattError, match=r"engine\.json: it looks like an engine inspector's JSON") as error:
        run("convert", source, tmp_path / "x.csv")
    assert error.value.exit_status == 2
