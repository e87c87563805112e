"""Mapping many recordings: the same files however it is done, and an interrupted batch goes on where it stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from recordings import contents, simulated_copies, wait_for

from edgewatt.cli import dataset, map_command
from edgewatt.dataset.run import build_dataset
from edgewatt.errors import EdgewattError, EdgewattWarning
from edgewatt.formats.made_from import FILE_NAME as MADE_FROM_FILE
from edgewatt.mapping.run import map_recordings
from recording_builder import RecordingBuilder

Builder = Callable[..., RecordingBuilder]
NAMES = "abc"


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated_copies(tmp_path_factory.mktemp("raw"), NAMES, 200)


@pytest.fixture(scope="module")
def one_by_one(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], list[str]]:
    """Files and warnings of mapping one recording after another in this process."""
    folder = tmp_path_factory.mktemp("one") / "pre"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(map_recordings(raw, folder, jobs=1).done) == len(NAMES)
    return contents(folder), _told(caught)


def test_processes_write_the_same_bytes(
    raw: Path, one_by_one: tuple[dict[str, bytes], list[str]], tmp_path: Path
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        batch = map_recordings(raw, tmp_path / "pre", jobs=2)
    assert [network.model for network in batch.done] == list(NAMES)
    assert (contents(tmp_path / "pre"), _told(caught)) == one_by_one
    assert len(one_by_one[1]) >= len(NAMES)  # short recordings are warned of


def _told(caught: list[warnings.WarningMessage]) -> list[str]:
    return [str(one.message) for one in caught if one.category is EdgewattWarning]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_batch_goes_on_where_it_stopped(
    raw: Path, one_by_one: tuple[dict[str, bytes], list[str]], tmp_path: Path, number: int
) -> None:
    pre = tmp_path / "pre"
    command = [Path(sys.executable).parent / "edgewatt", "map", str(raw), str(pre), "--jobs", "2"]
    run = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_for(lambda: pre.is_dir() and any(path.name in NAMES for path in pre.iterdir()))
    # Ctrl-C reaches the whole group; a kill the parent alone, which takes its workers along.
    (os.kill if number == signal.SIGKILL else os.killpg)(run.pid, number)
    _, told = run.communicate(timeout=60)  # its end is read when the workers, who share it, are gone too
    assert b"Traceback" not in told
    assert all(path.name in NAMES for path in pre.iterdir()), "an exit by an exception cleans up"
    finished = [name for name in NAMES if (pre / name).exists()]
    assert finished != list(NAMES)
    batch = map_recordings(raw, pre, jobs=1)
    assert batch.already == finished
    assert contents(pre) == one_by_one[0]


def _window(raw_dir: Path, pre: Path) -> list[str]:
    return map_recordings(raw_dir, pre, method="window").already


def test_only_the_same_is_not_mapped_again(builder: Builder, tmp_path: Path) -> None:
    recordings = [builder(name).write() for name in ("a", "b")]
    raw, pre = recordings[0].raw_dir, tmp_path / "pre"
    first = map_recordings(raw, pre, method="window")
    again = map_recordings(raw, pre, method="window")
    assert (first.already, again.already) == ([], ["a", "b"])
    assert again.done == first.done
    assert map_recordings(raw, pre, method="window", redo=True).already == []

    log = recordings[0].log_path
    times = log.stat()
    log.write_text(log.read_text().replace("1100.0", "1200.0"))  # of the same size, and as old
    os.utime(log, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert _window(raw, pre) == ["b"]
    (recordings[1].folder / "run.json").write_text(
        '{"schema_version": 1, "model": "b", "board": "x", "backend": "y", "sensor": {"name": "z"}}'
    )
    assert _window(raw, pre) == ["a"]
    idle = raw / "idling_power.json"
    idle.write_text(idle.read_text().replace("4000000.0", "4000001.0"))
    assert _window(raw, pre) == []
    assert _window(raw, pre) == ["a", "b"]


@pytest.mark.parametrize("name", ["layer_power.csv", "mapping.json", "power_runtime_mapping_layerwise.csv"])
def test_what_is_not_whole_is_mapped_again(builder: Builder, tmp_path: Path, name: str) -> None:
    raw, pre = builder().write().raw_dir, tmp_path / "pre"
    map_recordings(raw, pre, method="window")
    whole = contents(pre)
    (pre / "net" / name).write_bytes((pre / "net" / name).read_bytes()[:-1])
    assert _window(raw, pre) == []
    (pre / "net" / name).unlink()
    assert _window(raw, pre) == []
    assert contents(pre) == whole


@pytest.mark.parametrize("broken", ["", "{", '{"inputs": 3}', '{"schema_version": 1, "inputs": {}}'])
def test_a_broken_note_is_no_reason_to_skip(builder: Builder, tmp_path: Path, broken: str) -> None:
    raw, pre = builder().write().raw_dir, tmp_path / "pre"
    map_recordings(raw, pre, method="window")
    note = pre / "net" / MADE_FROM_FILE
    whole = note.read_text()
    note.write_text(broken)
    assert _window(raw, pre) == []
    assert note.read_text() == whole


def test_another_edgewatt_maps_again(builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, pre = builder().write().raw_dir, tmp_path / "pre"
    map_recordings(raw, pre, method="window")
    monkeypatch.setattr("edgewatt.mapping.run.source_digest", lambda: "other code")
    assert _window(raw, pre) == []


def test_tables_that_were_made_already(builder: Builder, tmp_path: Path) -> None:
    for name in ("a", "b"):
        builder(name).write()
    pre, tables = tmp_path / "pre", tmp_path / "tables"
    map_recordings(tmp_path / "raw", pre, method="window")
    first = build_dataset(pre, tables, min_samples=1)
    whole = contents(tables)
    again = build_dataset(pre, tables, min_samples=1)
    assert (first.already, again.already) == ([], ["a", "b"])
    for old, new in zip(first.done, again.done, strict=True):
        assert (old.model, old.time_share, old.left_out) == (new.model, new.time_share, new.left_out)
        assert all(old.tables[kind].equals(new.tables[kind]) for kind in old.tables)
    assert build_dataset(pre, tables, min_samples=1, jobs=2, redo=True).already == []
    assert contents(tables) == whole
    stricter = build_dataset(pre, tables, min_samples=2)
    assert (stricter.already, len(stricter.done[0].left_out)) == ([], 2)
    assert build_dataset(pre, tables, min_samples=2).done[0].left_out == stricter.done[0].left_out
    (tables / "a" / "dense.csv").unlink()
    assert build_dataset(pre, tables, min_samples=2).already == ["b"]


def test_what_was_done_already_is_told(builder: Builder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw, pre, tables = builder().write().raw_dir, tmp_path / "pre", tmp_path / "tables"
    for command, verb in (
        (lambda: map_command(raw, pre, method="window", json=True), "mapped"),
        (lambda: dataset(pre, tables, min_samples=1, json=True), "made"),
    ):
        command()
        first = capsys.readouterr()
        command()
        again = capsys.readouterr()
        value = json.loads(first.out)
        assert (value["skipped"], first.err) == ([], "")
        assert json.loads(again.out) == {**value, "skipped": ["net"]}
        assert again.err == f"already {verb}: net (--redo does it again)\n"
    map_command(raw, pre, method="window", redo=True, json=True)
    assert capsys.readouterr().err == ""


def test_a_broken_recording_among_many(builder: Builder, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        builder(name).write()
    (tmp_path / "raw/b/trt_profiling/trt_layer_latency.json").write_text("{")
    here = map_recordings(tmp_path / "raw", tmp_path / "here", method="window", jobs=1)
    beside = map_recordings(tmp_path / "raw", tmp_path / "beside", method="window", jobs=2)
    for batch in (here, beside):
        assert [network.model for network in batch.done] == ["a", "c"]
        assert batch.exit_status == 1
    assert str(beside.failed["b"]) == str(here.failed["b"])
    assert isinstance(beside.failed["b"], EdgewattError)
    assert contents(tmp_path / "beside") == contents(tmp_path / "here")


def test_what_a_killed_worker_left_goes_with_the_batch(raw: Path, tmp_path: Path) -> None:
    def begin(_: str) -> None:
        left = tmp_path / "pre" / ".writing-killed.part"
        (left / "new").mkdir(parents=True, exist_ok=True)
        (left / "new" / "layer_power.csv").write_text("half")
        (left / "owner").write_text('{"folder": "", "keep_others": false}')

    map_recordings(raw, tmp_path / "pre", method="window", jobs=1, progress=begin)
    assert sorted(path.name for path in (tmp_path / "pre").iterdir()) == sorted(NAMES)
