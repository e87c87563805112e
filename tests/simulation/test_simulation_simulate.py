from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from edgewatt.errors import EdgewattError
from edgewatt.formats.idle_power import read_idle_power
from edgewatt.simulation.simulate import simulate


def _content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_same_bytes_whatever_stands_beside(tmp_path):
    done: list[str] = []
    both = simulate(tmp_path / "a", ["lenet", "squeezenet1_1"], cycles=60, seed=5, progress=done.append)
    (alone,) = simulate(tmp_path / "b", ["squeezenet1_1"], cycles=60, seed=5)
    assert done == ["lenet", "squeezenet1_1"]
    assert both == [tmp_path / "a" / "lenet", tmp_path / "a" / "squeezenet1_1"]
    assert _content(both[1]) == _content(alone)
    for name in ("idling_power.json", "truth/squeezenet1_1.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert read_idle_power(tmp_path / "a" / "idling_power.json").power_w == pytest.approx(4.235, abs=0.02)


def test_batch_and_precision_reach_the_board(tmp_path):
    runtimes = []
    for number, (batch, precision) in enumerate([(1, "float16"), (1, "float32"), (8, "float16")]):
        simulate(tmp_path / str(number), ["squeezenet1_1"], cycles=20, batch=batch, precision=precision)
        runtimes.append(pl.read_csv(tmp_path / str(number) / "truth" / "squeezenet1_1.csv")["runtime_ms"].sum())
    assert runtimes[1] > 1.3 * runtimes[0]
    assert 2 * runtimes[0] < runtimes[2] < 8 * runtimes[0]


def test_nothing_is_written_for_what_is_not_known(tmp_path):
    for networks, board in (
        (["lenet", "no-such-network"], "orin-nano"),
        (["lenet", "lenet"], "orin-nano"),
        (["lenet"], "x"),
    ):
        with pytest.raises(EdgewattError):
            simulate(tmp_path / "raw", networks, board=board, cycles=20)
    assert not (tmp_path / "raw").exists()


@pytest.mark.parametrize("name", ["truth.onnx", ".hidden.onnx"])
def test_names_that_no_recording_can_have(tmp_path: Path, name: str) -> None:
    with pytest.raises(EdgewattError, match="a recording cannot be called"):
        simulate(tmp_path / "raw", [name], cycles=5)
    assert not (tmp_path / "raw").exists()


def test_a_recording_of_before_leaves_nothing_behind(tmp_path: Path) -> None:
    """A log of a further rail, of an earlier run, would be taken for one of this run."""
    stale = tmp_path / "raw/lenet/lenet_power_log.VDD_SOC.log"
    simulate(tmp_path / "raw", ["lenet"], cycles=5)
    stale.write_text("20241121-05:20:04.261448,5000.0,1096.0\n")
    (folder,) = simulate(tmp_path / "raw", ["lenet"], cycles=5)
    assert sorted(path.name for path in folder.iterdir()) == [
        "lenet_power_log.log",
        "lenet_tensorrt.json",
        "run.json",
        "trt_profiling",
    ]
    assert sorted(path.name for path in (tmp_path / "raw").iterdir()) == ["idling_power.json", "lenet", "truth"]
