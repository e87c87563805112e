"""What a mapped network's cycle took, as the training tables tell of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgewatt.dataset.run import build_dataset
from edgewatt.formats.mapping_info import FILE_NAME, read_mapping_info, write_mapping_info
from edgewatt.formats.network_info import read_network_info
from edgewatt.mapping.run import map_recordings
from recording_builder import RecordingBuilder


@pytest.mark.parametrize(
    ("layers_s", "network_s", "gaps_w", "expected_j"),
    [
        # 2 ms of layers at 9 W and 0.5 ms of the call beside them at 5 W; the pause before the next call is no part.
        (2e-3, 2.5e-3, 5.0, 18e-3 + 2.5e-3),
        # A profiler held the layers up by 0.2 ms: the network alone does not take these.
        (2e-3, 1.8e-3, 5.0, 18e-3 - 1e-3),
        # No gap was seen: idle power is the least that it can be.
        (2e-3, 2.5e-3, None, 18e-3 + 0.5e-3 * 4.0),
        (2e-3, None, 5.0, None),
    ],
)
def test_energy_of_the_time_that_a_cycle_takes(
    builder: Callable[..., RecordingBuilder],
    tmp_path: Path,
    layers_s: float,
    network_s: float | None,
    gaps_w: float | None,
    expected_j: float | None,
) -> None:
    assert not map_recordings(builder().write().raw_dir, tmp_path / "pre", method="window").failed
    path = tmp_path / "pre" / "net" / FILE_NAME
    changes = {
        "power": {"layers_w": 9.0, "gaps_w": gaps_w},
        "runtime": {"sum_of_layers_s": layers_s, "network_s": network_s},
        "idle_power_w": 4.0,
    }
    write_mapping_info(path, read_mapping_info(path).model_copy(update=changes))
    build_dataset(tmp_path / "pre", tmp_path / "train", min_samples=1)
    info = read_network_info(tmp_path / "train" / "net" / "network.json")
    assert info.energy_j == (None if expected_j is None else pytest.approx(expected_j))
    assert info.runtime_s == network_s
