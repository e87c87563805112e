from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewatt.errors import FormatError
from edgewatt.formats.trtexec_times import read_inference_times

# One inference: enqueued from 1 to 2 ms, input from 3 to 5, computed from 6 to 9, output from 10 to 14.
_COMPUTE = {"startComputeMs": 6.0, "endComputeMs": 9.0, "computeMs": 3.0}
_LATER = {
    "startEnqMs": 1.0,
    "endEnqMs": 2.0,
    "startH2dMs": 3.0,
    "endH2dMs": 5.0,
    **_COMPUTE,
    "startD2hMs": 10.0,
    "endD2hMs": 14.0,
    "h2dMs": 2.0,
    "d2hMs": 4.0,
    "latencyMs": 9.0,
}
_OLD_TRANSFERS = {"startOutMs": 10.0, "endOutMs": 14.0, "inMs": 2.0, "outMs": 4.0, "latencyMs": 9.0, "endToEndMs": 13.0}
_ERAS: dict[str, dict[str, Any]] = {
    "7.0": {"startInMs": 3.0, "endInMs": 5.0, **_COMPUTE, **_OLD_TRANSFERS},
    # These two exchange the times of enqueueing and of the input.
    "7.2": {"startEnqMs": 3.0, "endEnqMs": 5.0, "startInMs": 1.0, "endInMs": 2.0, **_COMPUTE, **_OLD_TRANSFERS},
    "8.0": {**_LATER, "endToEndMs": 13.0},
    "10.4": _LATER,
}


@pytest.mark.parametrize("era", _ERAS)
def test_every_version_means_the_same(tmp_path: Path, era: str) -> None:
    path = tmp_path / "times.json"
    path.write_text(json.dumps([_ERAS[era]]))
    times = read_inference_times(path)
    (row,) = times.table.to_dicts()
    expected = {
        "start_enqueue_ms": 1.0,
        "end_enqueue_ms": 2.0,
        "start_input_ms": 3.0,
        "end_input_ms": 5.0,
        "start_compute_ms": 6.0,
        "end_compute_ms": 9.0,
        "start_output_ms": 10.0,
        "end_output_ms": 14.0,
        "input_ms": 2.0,
        "compute_ms": 3.0,
        "output_ms": 4.0,
        "latency_ms": 9.0,
        "end_to_end_ms": 13.0,
    }
    absent = {"10.4": {"end_to_end_ms"}, "7.0": {"start_enqueue_ms", "end_enqueue_ms"}}.get(era, set())
    assert row == {name: value for name, value in expected.items() if name not in absent}
    assert times.compute_ms.tolist() == [[6.0, 9.0]]


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e3)), min_size=1, max_size=20))
def test_any_times_are_read_exactly(
    tmp_path_factory: pytest.TempPathFactory, inferences: list[tuple[float, float]]
) -> None:
    path = tmp_path_factory.mktemp("times") / "times.json"
    edges = [(start, start + length) for start, length in inferences]
    path.write_text(json.dumps([{"startComputeMs": start, "endComputeMs": end} for start, end in edges], indent=1))
    assert read_inference_times(path).compute_ms.tolist() == [list(edge) for edge in edges]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "holds no inference"),
        ([{**_LATER}, {**_LATER, "latencyMs": None}], "entry 2: not the times .*latencyMs is None"),
        ([{**_LATER}, {**_LATER, "endComputeMs": 5.0}], "entry 2: the inference ends before it starts"),
        ([{**_LATER}, 7], "entry 2: not the times"),
        ([{"count": 3}, {"name": "a", "timeMs": 3, "averageMs": 1}], "It looks like a profile of trtexec"),
        ({"Layers": ["a"]}, "It looks like an engine inspector's JSON"),
        ([{"cat": "Node", "name": "a_kernel_time"}], "It looks like a profile of ONNX Runtime"),
        ([{"startComputeMs": 1.0}], "not the times that trtexec exports. Export them"),
    ],
)
def test_broken_files_and_look_alikes(tmp_path: Path, value: object, message: str) -> None:
    path = tmp_path / "times.json"
    path.write_text(json.dumps(value))
    with pytest.raises(FormatError, match=message) as error:
        read_inference_times(path)
    assert str(path) in str(error.value)
