"""What a file seems to be, by how it begins: for errors that say which of several similar files was given."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

#: Enough for a header, or for the first entries of a list.
_HEAD_BYTES = 16384


class FileKind(str, Enum):
    """Kinds of files that are told apart; the value is what a person calls one."""

    TEGRASTATS = "a tegrastats log"
    JTOP = "a CSV log of jtop"
    TRTEXEC_PROFILE = "a profile of trtexec --exportProfile"
    TRTEXEC_TIMES = "the times of trtexec --exportTimes"
    ONNXRUNTIME_PROFILE = "a profile of ONNX Runtime"
    CHROME_TRACE = "a Chrome or Perfetto trace"
    ENGINE_INFO = "an engine inspector's JSON"
    LAYER_LATENCY = "a file of layer latencies"
    POWER_LOG = "a power log"


#: Kinds that `edgewatt convert` reads, by what its option `--from` calls them.
CONVERTIBLE = {
    "tegrastats": FileKind.TEGRASTATS,
    "jtop": FileKind.JTOP,
    "trtexec-profile": FileKind.TRTEXEC_PROFILE,
    "trtexec-times": FileKind.TRTEXEC_TIMES,
    "onnxruntime": FileKind.ONNXRUNTIME_PROFILE,
}

_POWER_READING = re.compile(r"[0-9]{8}-[0-9:]{8}[^,\n]*,[^,\n]+,[^,\n]+$", re.MULTILINE)
_TEGRASTATS = re.compile(
    r"\bRAM [0-9]+/[0-9]+[MkG]B |(^|\s)[A-Za-z][\w.]* -?[0-9]+(mW)?/-?[0-9]+(mW)?(\s|/|$)", re.MULTILINE
)
_JTOP = re.compile(r"^[^\n]*(^|,)time(,|$)[^\n]*,Power [^\n]*$", re.MULTILINE)
_LATENCIES = re.compile(r'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[\s*(\[\s*)?[-0-9]')
#: In this order: a profile of ONNX Runtime is a Chrome trace too.
_ARRAYS = (
    (FileKind.TRTEXEC_PROFILE, re.compile(r'"(averageMs|count)"\s*:')),
    (FileKind.TRTEXEC_TIMES, re.compile(r'"(start|end)ComputeMs"\s*:')),
    (FileKind.ONNXRUNTIME_PROFILE, re.compile(r'"cat"\s*:\s*"(Session|Node)"')),
    (FileKind.CHROME_TRACE, re.compile(r'"ph"\s*:\s*"')),
)


def recognise(path: Path) -> FileKind | None:
    """What a file seems to be; None where nothing fits, or it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES).decode("utf-8-sig", "replace").lstrip()
    except OSError:
        return None
    if head.startswith("["):
        return next((kind for kind, pattern in _ARRAYS if pattern.search(head)), None)
    if head.startswith("{"):
        return _recognise_object(head)
    if _POWER_READING.match(head):
        return FileKind.POWER_LOG
    if _JTOP.match(head):
        return FileKind.JTOP
    return FileKind.TEGRASTATS if _TEGRASTATS.search(head) else None


def _recognise_object(head: str) -> FileKind | None:
    if re.search(r'[{,]\s*"traceEvents"\s*:\s*\[\s*[{\]]', head):
        return FileKind.CHROME_TRACE
    # A layer's latencies may go by the same name, but are a list of numbers.
    if re.match(r'\{\s*"(Layers|Bindings)"\s*:\s*\[\s*["{\]]', head):
        return FileKind.ENGINE_INFO
    return FileKind.LAYER_LATENCY if _LATENCIES.match(head) else None


def advice(path: Path, expected: FileKind | None, otherwise: str) -> str:
    """What to do about a file that is not of the format that was expected.

    Args:
        path: The file.
        expected: What it should have been.
        otherwise: What to say where it seems to be that, or nothing that is known.
    """
    kind = recognise(path)
    if kind is None or kind is expected:
        return otherwise
    looks = f"It looks like {kind.value}"
    return f"{looks}: convert it with `edgewatt convert`" if kind in CONVERTIBLE.values() else looks
