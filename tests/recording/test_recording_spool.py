from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgewatt.backends.base import Cycles, plain_cycles
from edgewatt.recording.spool import Spool, read_spool


def _cycles(first: int, count: int, layers: int) -> Cycles:
    start = np.arange(first, first + count) * 1000
    latency = np.arange(count * layers, dtype=np.float64).reshape(count, layers) / 7 + first
    return Cycles(start, start + 900, latency, start[:, None] + 950 + np.arange(layers))


def _equal(one: Cycles, other: Cycles) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in one.__dataclass_fields__)


def test_what_is_appended_is_read(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    for first in (0, 3):
        spool = Spool(path)
        spool.append(_cycles(first, 3, 2))
        spool.close()
    cycles = read_spool(path, 2)
    assert cycles.start_ns.tolist() == [0, 1000, 2000, 3000, 4000, 5000]
    assert cycles.latency_ms[4].tolist() == [2 / 7 + 3, 3 / 7 + 3]
    assert cycles.layer_end_ns[5].tolist() == [5950, 5951]


@pytest.mark.parametrize("cut", range(1, 49, 5))
def test_a_row_that_was_cut_off_is_left_out(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "spool"
    spool = Spool(path)
    spool.append(_cycles(0, 4, 2))
    spool.close()
    content = path.read_bytes()
    assert len(content) == 4 * 48
    path.write_bytes(content[:-cut])
    whole = _cycles(0, 4, 2)
    expected = Cycles(whole.start_ns[:3], whole.end_ns[:3], whole.latency_ms[:3], whole.layer_end_ns[:3])
    assert _equal(read_spool(path, 2), expected)


def test_cycles_without_layers_and_missing_files(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    assert len(read_spool(path, 5)) == 0
    spool = Spool(path)
    spool.append(plain_cycles([1, 3], [2, 4]))
    spool.append(plain_cycles([], []))
    spool.close()
    assert _equal(read_spool(path, 0), plain_cycles([1, 3], [2, 4]))
