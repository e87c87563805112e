from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgewatt.errors import FormatError
from edgewatt.formats.engine_info import read_engine_info
from edgewatt.formats.file_kind import FileKind, advice, recognise
from edgewatt.formats.layer_latency import read_layer_latencies
from edgewatt.formats.power_log import read_power_log

_BEGINNINGS = {
    FileKind.TEGRASTATS: "RAM 407/15823MB (lfb 3702x4MB) GPU@28C GPU 1155/1155 CPU 385/385\n",
    FileKind.JTOP: "time,uptime,CPU1,Power VDD_IN,Power TOT\n",
    FileKind.TRTEXEC_PROFILE: '[\n  { "count" : 3 }\n, { "name" : "a "b"", "timeMs" : 1, "averageMs" : 1',
    FileKind.TRTEXEC_TIMES: '[\n  { "startEnqMs" : 1, "endEnqMs" : 2, "startComputeMs" : 3',
    FileKind.ONNXRUNTIME_PROFILE: '[\n{"cat" : "Session","pid" :1,"tid" :1,"dur" :3,"ts" :4,"ph" : "X","name" :"x"},\n',
    FileKind.CHROME_TRACE: '{"traceEvents": [\n{"ph":"M"',
    FileKind.ENGINE_INFO: '{"Layers": [{\n  "Name": "conv", "count": 1',
    FileKind.LAYER_LATENCY: '{"a \\"b\\"": [[0.5, "20241121-05:22:50.156286"]]',
    FileKind.POWER_LOG: "20241121-05:20:04.261448,5000.0,1096.0\n",
}
_READERS: dict[FileKind, Callable[[Path], object]] = {
    FileKind.POWER_LOG: read_power_log,
    FileKind.ENGINE_INFO: read_engine_info,
    FileKind.LAYER_LATENCY: read_layer_latencies,
}


@pytest.mark.parametrize("kind", FileKind)
def test_every_kind_is_told_by_its_beginning(tmp_path: Path, kind: FileKind) -> None:
    path = tmp_path / "file"
    path.write_text(_BEGINNINGS[kind])
    assert recognise(path) is kind


@pytest.mark.parametrize("text", ["", "hello", "[]", "{}", "[1, 2]", '{"a": 1}', "a,b\n1,2\n", "\x00\xff"])
def test_other_files_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    assert recognise(path) is None
    assert advice(path, None, "Make it again") == "Make it again"
    assert recognise(tmp_path / "missing") is None


@pytest.mark.parametrize("reader", _READERS)
@pytest.mark.parametrize("kind", FileKind)
def test_readers_say_what_they_were_given(tmp_path: Path, reader: FileKind, kind: FileKind) -> None:
    if kind is reader:
        return
    whole = {FileKind.ENGINE_INFO: '{"Layers": ["a"]}', FileKind.LAYER_LATENCY: '{"a": [0.5]}'}
    whole |= {FileKind.TRTEXEC_PROFILE: '[{"count": 3}]', FileKind.TRTEXEC_TIMES: '[{"startComputeMs": 3}]'}
    whole |= {FileKind.ONNXRUNTIME_PROFILE: '[{"cat": "Node"}]', FileKind.CHROME_TRACE: '{"traceEvents": []}'}
    path = tmp_path / "file"
    path.write_text(whole.get(kind, _BEGINNINGS[kind]))
    text_as_json = reader is FileKind.ENGINE_INFO and kind not in whole
    message = "not valid JSON" if text_as_json else f"It looks like {kind.value}"
    with pytest.raises(FormatError, match=message):
        _READERS[reader](path)


def test_a_broken_file_of_the_right_kind_is_not_called_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "power.log"
    path.write_text("20241121-05:20:04.261448,x,1096.0\n")
    with pytest.raises(FormatError, match="A line is timestamp,mV,mA"):
        read_power_log(path)


def test_real_files_are_what_they_are(data_dir: Path) -> None:
    kinds = {"graph": FileKind.ENGINE_INFO, "profile": FileKind.TRTEXEC_PROFILE}
    files = list(data_dir.glob("engines/*_trtexec/*.json"))
    assert len(files) == 8
    for path in files:
        assert recognise(path) is kinds[path.name.split(".")[-2]]
        if path.name.endswith(".graph.json"):
            assert read_engine_info(path).layers
