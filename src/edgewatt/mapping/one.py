"""One recording's layers and their powers, in one call."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from edgewatt.formats.folders import refuse_same_folder
from edgewatt.formats.idle_power import read_idle_power
from edgewatt.formats.recording import RecordingPaths
from edgewatt.formats.run_folders import idle_power_file
from edgewatt.mapping.run import MappedNetwork, Method, checked_method, map_recording


def map_power(recording: Path, preprocessed_dir: Path | None = None, *, method: Method = "deconvolve") -> MappedNetwork:
    """Give every layer of one recording its power.

    Args:
        recording: The recording's folder. The idle power is read from the folder that it lies in, as by
            `map_recordings`.
        preprocessed_dir: Folder to write to, in a folder of the network's name; nothing is kept when None.
        method: The mapping method.

    Returns:
        The layers and how they were mapped; its `folder` is the recording's where nothing was kept.

    Raises:
        EdgewattError: The recording is broken or lacks what the method needs.
    """
    checked_method(method)
    paths = RecordingPaths(recording.resolve())
    idle_file = idle_power_file(paths.folder)
    idle_power_uw = read_idle_power(idle_file).avg_idle_power if idle_file.exists() else None
    if preprocessed_dir is not None:
        refuse_same_folder(recording.parent, preprocessed_dir)
        return map_recording(paths, preprocessed_dir / paths.model, idle_power_uw, method)
    with tempfile.TemporaryDirectory() as scratch:
        mapped = map_recording(paths, Path(scratch) / paths.model, idle_power_uw, method)
    return replace(mapped, folder=recording)
