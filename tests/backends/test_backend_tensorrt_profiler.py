from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from tensorrt_modules import tensorrt_module

from edgewatt.backends.tensorrt import import_tensorrt
from edgewatt.backends.tensorrt_profiler import ReportedCycles, make_profiler
from edgewatt.errors import NoDeviceError


class _IProfiler:
    """Like the library's: refuses an object whose base was not initialised."""

    def __init__(self) -> None:
        self.initialised = True

    def dispatch(self, name: str, ms: float) -> None:
        assert self.initialised
        self.report_layer_time(name, ms)

    def report_layer_time(self, layer_name: str, ms: float) -> None:
        raise NotImplementedError


@pytest.mark.parametrize("name", ["stand-in", "tensorrt_lean", "tensorrt_rtx"])
def test_the_library_calls_the_profiler_which_keeps_reports_with_their_times(name: str) -> None:
    trt = SimpleNamespace(IProfiler=_IProfiler) if name == "stand-in" else tensorrt_module(name)
    profiler = make_profiler(trt)
    assert isinstance(profiler, trt.IProfiler)
    before = time.monotonic_ns()
    for layer, ms in (("conv \x1e 1", 0.03030399978160858), ("conv 1", 0.0), ("conv \x1e 1", 2.5)):
        if name == "stand-in":
            profiler.dispatch(layer, ms)  # type: ignore[attr-defined]
        else:
            trt.IProfiler.report_layer_time(profiler, layer, ms)  # goes through the library, as its own calls do
    reports = profiler.take()
    assert [layer for layer, _, _ in reports] == ["conv \x1e 1", "conv 1", "conv \x1e 1"]
    # The library's times are 32-bit floats.
    assert [ms for _, ms, _ in reports] == pytest.approx([0.03030399978160858, 0.0, 2.5], rel=1e-6)
    times = [now for _, _, now in reports]
    assert before <= times[0] <= times[1] <= times[2] <= time.monotonic_ns()
    assert profiler.take() == []


@pytest.mark.parametrize("name", ["tensorrt_lean", "tensorrt_rtx"])
def test_the_modules_are_imported_as_tensorrt_is(name: str) -> None:
    module = tensorrt_module(name)
    assert import_tensorrt(name) is module


def test_a_missing_library_says_how_to_get_it() -> None:
    with pytest.raises(NoDeviceError, match=r"tensorrt_of_nobody cannot be imported .*JetPack"):
        import_tensorrt("tensorrt_of_nobody")


def test_bindings_without_libraries_are_told_of() -> None:
    with pytest.raises(NoDeviceError, match="json is installed without its libraries"):
        import_tensorrt("json")


def test_reports_become_rows_and_odd_cycles_are_dropped() -> None:
    cycles = ReportedCycles(("a", "b", "a"))
    assert cycles.add([("a", 1.0, 10), ("b", 2.0, 11), ("a", 3.0, 12)])
    assert not cycles.add([("a", 1.0, 20), ("b", 2.0, 21)])
    assert not cycles.add([("b", 1.0, 20), ("a", 2.0, 21), ("a", 2.0, 22)])
    assert cycles.add([("a", 4.0, 30), ("b", 5.0, 31), ("a", 6.0, 32)])
    latency, ends = cycles.take()
    assert latency.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert ends.tolist() == [[10, 11, 12], [30, 31, 32]]
    assert cycles.dropped == 2
    empty, _ = cycles.take()
    assert empty.shape == (0, 3)
    assert empty.dtype == np.float64
