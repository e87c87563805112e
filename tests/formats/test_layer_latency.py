from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewatt.errors import FormatError
from edgewatt.formats.layer_latency import LayerLatencies, read_layer_latencies, write_layer_latencies

STAMP = "20241121-05:22:50.156286"

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
entries = st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 10**6)), min_size=1, max_size=5)


def stamp(second_fraction: int) -> str:
    return f"20241121-05:22:{second_fraction // 10**6:02d}.{second_fraction % 10**6:06d}"


@given(
    st.dictionaries(names, entries, min_size=1, max_size=4),
    st.sampled_from([None, 2]),
    st.booleans(),
    st.sampled_from([(", ", ": "), (",", ":"), (" , ", " : ")]),
)
def test_any_json_style_and_any_name(
    tmp_path_factory: pytest.TempPathFactory,
    layers: dict[str, list[tuple[float, int]]],
    indent: int | None,
    ascii_only: bool,
    separators: tuple[str, str],
) -> None:
    value = {name: [[ms, stamp(us)] for ms, us in rows] for name, rows in layers.items()}
    path = tmp_path_factory.mktemp("latency") / "latency.json"
    path.write_text(json.dumps(value, indent=indent, ensure_ascii=ascii_only, separators=separators), encoding="utf-8")
    read = read_layer_latencies(path)
    assert read.names == tuple(layers)
    assert read.end_us is not None
    for index, rows in enumerate(layers.values()):
        assert read.latency_ms[index].tolist() == [ms for ms, _ in rows]
        assert (read.end_us[index] - read.end_us[index][0]).tolist() == [us - rows[0][1] for _, us in rows]


@given(st.dictionaries(names, entries, min_size=1, max_size=4))
def test_written_and_read_back(
    tmp_path_factory: pytest.TempPathFactory, layers: dict[str, list[tuple[float, int]]]
) -> None:
    path = tmp_path_factory.mktemp("latency") / "latency.json"
    written = LayerLatencies(
        tuple(layers),
        [np.array([ms for ms, _ in rows]) for rows in layers.values()],
        [np.array([us for _, us in rows]) for rows in layers.values()],
    )
    write_layer_latencies(path, written)
    assert list(json.loads(path.read_text())) == list(layers)
    read = read_layer_latencies(path)
    assert read.end_us is not None
    assert written.end_us is not None
    for index in range(len(layers)):
        np.testing.assert_array_equal(read.latency_ms[index], written.latency_ms[index])
        np.testing.assert_array_equal(read.end_us[index], written.end_us[index])


def test_latencies_without_timestamps(tmp_path: Path) -> None:
    path = tmp_path / "latency.json"
    path.write_text('{"a": [0.5, 1], "b": [0.25, 2]}')
    read = read_layer_latencies(path)
    assert read.end_us is None
    assert [latency.tolist() for latency in read.latency_ms] == [[0.5, 1.0], [0.25, 2.0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("{}", "no layer was recorded"),
        ("[]", "expected '{'"),
        ("null", "expected '{'"),
        ('{"a": [[1, "' + STAMP + '"], [2, "2024', "truncated"),
        ('{"a": [[1, "' + STAMP + '"]]', "truncated"),
        ('{"a', "truncated"),
        ('{"a": [[1, "' + STAMP + '"]]} x', "more after the end"),
        ('{"a": [[NaN, "' + STAMP + '"]]}', "layer 'a'.*cycle 1 is nan"),
        ('{"a": [[1, "' + STAMP + '"], [-0.1, "' + STAMP + '"]]}', "layer 'a'.*cycle 2 is -0.1"),
        ('{"a": [[Infinity, "' + STAMP + '"]]}', "cycle 1 is inf"),
        ('{"a": [["fast", "' + STAMP + '"]]}', "cycle 1 is 'fast'"),
        ('{"a": [[null, "' + STAMP + '"]]}', "cycle 1 is None"),
        ('{"a": [[true, "' + STAMP + '"]]}', "cycle 1 is True"),
        ('{"a": [[1, "05:22"]]}', "not a timestamp in cycle 1: '05:22'"),
        ('{"a": [[1, 5]]}', "not a timestamp in cycle 1: 5"),
        ('{"a": [[1]]}', "entry of cycle 1"),
        ('{"a": [[1, "' + STAMP + '", 3]]}', "entry of cycle 1"),
        ('{"a": [[1, "' + STAMP + '"], 3]}', "not valid JSON|entry of cycle 2|truncated"),
        ('{"a": 5}', "not a list"),
        ('{"a": [[1, "' + STAMP + '"]], "a": [[2, "' + STAMP + '"]]}', "comes twice"),
        ('{"a": [[1, "' + STAMP + '"]], "b": [2]}', "only some layers"),
        ('{"a": [[1, "' + STAMP + '"] [2, "' + STAMP + '"]]}', "not valid JSON"),
        ('{"\\ud800": [[1, "' + STAMP + '"]]}', "not text"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "latency.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as error:
        read_layer_latencies(path)
    assert str(path) in str(error.value)


@given(st.binary(max_size=200))
def test_any_bytes_give_a_result_or_a_format_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("latency") / "latency.json"
    path.write_bytes(content)
    with pytest.raises(FormatError):
        read_layer_latencies(path)


def test_every_truncation_is_an_error(tmp_path: Path) -> None:
    whole = json.dumps({"conv ]] [[": [[0.5, STAMP], [0.25, STAMP]], 'b"\\': [[1.0, STAMP], [2.0, STAMP]]})
    path = tmp_path / "latency.json"
    for length in range(len(whole)):
        path.write_text(whole[:length])
        with pytest.raises(FormatError):
            read_layer_latencies(path)


def test_real_latencies(data_dir: Path) -> None:
    read = read_layer_latencies(data_dir / "engines/rtx3060_onnx_trt/resnet18.layer_latency.json")
    assert (len(read.names), len(read.latency_ms[0]), read.end_us) == (29, 100, None)
    assert read.latency_ms[0][0] == pytest.approx(0.0149119999)
