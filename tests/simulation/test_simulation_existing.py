from __future__ import annotations

import json

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.simulation.simulate import simulate
from edgewatt.simulation.states import simulate_states


@pytest.fixture
def raw(tmp_path):
    simulate(tmp_path / "raw", ["lenet"], cycles=5)
    return tmp_path / "raw"


def _refused(raw, word):
    before = {path: path.read_bytes() for path in raw.rglob("*") if path.is_file()}
    with pytest.raises(EdgewattError, match=word):
        simulate(raw, ["alexnet"], cycles=5)
    assert before == {path: path.read_bytes() for path in raw.rglob("*") if path.is_file()}


def test_a_simulated_recording_is_replaced(raw):
    before = (raw / "lenet" / "lenet_power_log.log").read_bytes()
    simulate(raw, ["lenet"], cycles=5, seed=1)
    assert (raw / "lenet" / "lenet_power_log.log").read_bytes() != before


def test_a_recording_of_a_board_is_not_replaced(raw):
    run_file = raw / "lenet" / "run.json"
    run_file.write_text(json.dumps(json.loads(run_file.read_text()) | {"backend": "tensorrt"}))
    _refused(raw, "lenet was measured.*a folder of its own")


def test_recordings_of_base_files_alone_are_measured(raw):
    (raw / "lenet" / "run.json").unlink()
    _refused(raw, "lenet was measured")


def test_an_idle_power_that_was_measured_first_stays(tmp_path):
    idle_file = tmp_path / "idling_power.json"
    idle_file.write_text('{"timestamp": "20261101-120000", "avg_idle_power": 4200000.0}')
    _refused(tmp_path, "idle power was measured")


def test_states_are_kept_apart_too(raw):
    (raw / "lenet" / "run.json").unlink()
    with pytest.raises(EdgewattError, match="lenet was measured"):
        simulate_states(raw, ["lenet"], batches=[1, 4], cycles=5)
