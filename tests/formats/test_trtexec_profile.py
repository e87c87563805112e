from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewatt.errors import FormatError
from edgewatt.formats.trtexec_profile import LayerProfile, read_profile, write_profile

# What trtexec would have to write for a name to be taken for the end of an entry and the next one's beginning.
_BOTH = '", "timeMs" : 1, "averageMs" : 1, "percentage" : 1 }\n, { "name" : "'
names = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        st.sampled_from(['a "b"', "c\\", '"', "\\n", "}\n]", '", "timeMs" : 1', "]", "\n", '{ "name" : "', "\x00\x1f"]),
    ),
    min_size=1,
    max_size=6,
)
times = st.floats(0, 1e9)


def as_trtexec_writes(layers: list[str], values: list[float], count: int, medians: bool) -> str:
    """The file as trtexec writes it, with the names as they are (`exportProfile` in its samples/common)."""
    lines = ["[", f'  {{ "count" : {count} }}']
    for name, value in zip(layers, values, strict=True):
        median = f', "medianMs" : {value:g}' if medians else ""
        total = f'"timeMs" : {value * count:g}, "averageMs" : {value:g}{median}'
        lines.append(f', {{ "name" : "{name}", {total}, "percentage" : 5 }}')
    return "\n".join([*lines, "]"]) + "\n"


@settings(deadline=None)
@given(names, times, st.integers(1, 10**6), st.booleans())
def test_names_that_trtexec_did_not_escape_are_read_as_they_are(
    tmp_path_factory: pytest.TempPathFactory, layers: list[str], value: float, count: int, medians: bool
) -> None:
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    path.write_bytes(as_trtexec_writes(layers, [value] * len(layers), count, medians).encode())
    profile = read_profile(path)
    assert profile.names == tuple(layers)
    assert profile.cycles == count
    assert profile.mean_ms.tolist() == [float(f"{value:g}")] * len(layers)
    assert (profile.median_ms is not None) == medians


@settings(deadline=None)
@given(names, times, st.integers(1, 10**6), st.booleans())
def test_written_as_json_and_read_back(
    tmp_path_factory: pytest.TempPathFactory, layers: list[str], value: float, count: int, medians: bool
) -> None:
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    means = value + np.arange(len(layers))
    written = LayerProfile(tuple(layers), means, count, means * count, means / 2 if medians else None)
    write_profile(path, written)
    first, *entries = json.loads(path.read_text())
    assert first == {"count": count}
    assert [entry["name"] for entry in entries] == layers
    assert sum(entry["percentage"] for entry in entries) == pytest.approx(100 if means.any() else 0)
    assert all(("medianMs" in entry) == medians for entry in entries)
    profile = read_profile(path)
    assert (profile.names, profile.cycles) == (written.names, written.cycles)
    np.testing.assert_array_equal(profile.mean_ms, written.mean_ms)
    np.testing.assert_array_equal(profile.total_ms, written.total_ms)


def test_a_name_that_holds_two_entries_is_the_one_thing_that_cannot_be_told(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text(as_trtexec_writes([f"a{_BOTH}b"], [1.0], 3, False))
    assert read_profile(path).names == ("a", "b")


@pytest.mark.parametrize(
    "name", ["rtx3060_trtexec/resnet18", "a100_trtexec/mobilenet_int8", "a100_trtexec/resnet18_fp16"]
)
def test_real_profiles_add_up(data_dir: Path, name: str) -> None:
    path = data_dir / "engines" / f"{name}.profile.json"
    profile = read_profile(path)
    entries = json.loads(path.read_text())[1:]
    assert profile.total_ms.tolist() == [entry["timeMs"] for entry in entries]
    # The file has six digits.
    np.testing.assert_allclose(profile.total_ms, profile.mean_ms * profile.cycles, rtol=1e-5)
    np.testing.assert_allclose(100 * profile.share, [entry["percentage"] for entry in entries], atol=1e-3)
    assert profile.median_ms is not None


_GOOD = '[\n  { "count" : 3 }\n, { "name" : "a", "timeMs" : 3, "averageMs" : 1, "percentage" : 60 }\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_GOOD, "line 3, entry 1: the profile is truncated"),
        (_GOOD + ', { "name" : "b", "timeMs" : 2\n', "line 3, entry 1|entry 2.*truncated"),
        (_GOOD + ', { "name" : "b" }\n]', "line 3, entry 1|line 4, entry 2"),
        (_GOOD.replace("1,", "nan,") + "]", "averageMs is not a number of milliseconds from 0: 'nan'"),
        (_GOOD.replace("1,", "-1,") + "]", r"entry 1 \('a'\): averageMs is not"),
        (_GOOD.replace(": 3 }", ": 0 }") + "]", "count of inferences is '0'"),
        ('[{"count": 3}, {"name": "a", "timeMs": 3}]', "entry 1: the entry has no averageMs"),
        ('[{"count": 3}, {"timeMs": 3, "averageMs": 1}]', "entry 1: the entry has no name"),
        ('[{"count": 3}, {"name": "a", "timeMs": true, "averageMs": 1}]', "timeMs is not a number"),
        ('[{"count": "x"}, {"name": "a", "timeMs": 1, "averageMs": 1}]', "count of inferences is 'x'"),
        (
            '[{"count": 3}, {"name": "a", "timeMs": 1, "averageMs": 1, "medianMs": 1}, {"name": "b", "timeMs": 1, '
            '"averageMs": 1}]',
            "only some layers have a medianMs",
        ),
        ('[{"count": 3}, {"name": "a', "not valid JSON at line 1"),
        ('{"Layers": [{"Name": "a"}]}', "not a profile of trtexec. It looks like an engine inspector's JSON"),
        ('[{"cat": "Session", "name": "x", "ph": "X"}]', "It looks like a profile of ONNX Runtime"),
        ("RAM 385/3984MB VDD_IN 1038/1134", "It looks like a tegrastats log: convert it with `edgewatt convert`"),
        ("nonsense", "not a profile of trtexec. Export it with"),
    ],
)
def test_broken_files_and_look_alikes(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "profile.json"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as error:
        read_profile(path)
    assert str(path) in str(error.value)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_format_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("profile") / "profile.json"
    path.write_bytes(content)
    with pytest.raises(FormatError):
        read_profile(path)


def test_every_truncation_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    whole = as_trtexec_writes(['a "b"', "c\\"], [1.0, 2.0], 3, True)
    for length in range(len(whole.rstrip())):
        path.write_text(whole[:length])
        with pytest.raises(FormatError):
            read_profile(path)
