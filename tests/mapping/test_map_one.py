"""One recording, mapped in one call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import edgewatt
from edgewatt.mapping.run import map_recordings
from recording_builder import RecordingBuilder

Builder = Callable[..., RecordingBuilder]


def test_it_gives_what_the_batch_gives_and_keeps_nothing(builder: Builder, tmp_path: Path) -> None:
    recording = builder("net").write()
    before = sorted(recording.raw_dir.rglob("*"))
    mapped = edgewatt.map_power(recording.folder, method="window")
    # The two layers' readings are told in test_map_recordings.
    assert [layer.power_w for layer in mapped.layers] == [6.25, 8.75]
    assert mapped.folder == recording.folder
    assert sorted(recording.raw_dir.rglob("*")) == before
    (batch,) = map_recordings(recording.raw_dir, tmp_path / "pre", method="window").done
    assert (mapped.layers, mapped.info) == (batch.layers, batch.info)
    kept = edgewatt.map_power(recording.folder, tmp_path / "kept", method="window")
    assert (kept.folder / "layer_power.csv").read_bytes() == (tmp_path / "pre/net/layer_power.csv").read_bytes()


def test_what_it_needs_is_told(builder: Builder, tmp_path: Path) -> None:
    recording = builder("net")
    recording.idle = None
    recording.write()
    with pytest.raises(edgewatt.EdgewattError, match="idle power"):
        edgewatt.map_power(recording.folder, method="window")
    with pytest.raises(edgewatt.EdgewattError, match="no mapping method 'windows'"):
        edgewatt.map_power(recording.folder, method="windows")  # type: ignore[arg-type]
    with pytest.raises(edgewatt.EdgewattError):
        edgewatt.map_power(tmp_path / "nothing")
