"""ONNX Runtime on the CPU: each layer's true start and end, from the profile that the runtime writes.

The CPU's operations run one after the other, so that a layer's time in the profile is its own:

    cycle   |---------------------------------------|      start and end: this process's monotonic clock
    layers    |conv|relu|conv  |relu| ...      |gemm|      start and duration: the profile, in whole microseconds

The runtime keeps at most 1,000,000 events and writes them when profiling ends, so a long run is profiled in parts,
each with a session of its own. Between them power is logged on and nothing is lost but time; a process that is killed
loses the part that it was at, ten seconds at most.

Networks are optimised at the level BASIC: constants are folded and batch normalisation goes into its convolution, but
operations keep their names and types, so that each is a layer of the network. The levels above it fuse and rename.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, helper

from edgewatt.backends.base import (
    Backend,
    Cycles,
    LoadedNetwork,
    LoadSettings,
    NetworkFacts,
    Problem,
    Stop,
    plain_cycles,
)
from edgewatt.backends.network import Network
from edgewatt.backends.onnx_model import input_shapes, network_inputs, runnable_model
from edgewatt.backends.onnxruntime_layers import layer_entries
from edgewatt.backends.onnxruntime_profile import cycles_of, layer_events, read_profile
from edgewatt.errors import EdgewattError

#: Events of one profile: a twentieth of what the runtime keeps, so that reading it takes about half a second.
_EVENTS_AT_ONCE = 50_000
#: Events of a cycle beside those of its layers.
_EVENTS_OF_CYCLE = 2
_LEVEL = "basic"
#: Longest time of a part in s, so that a crash loses no more.
_PART_S = 10.0
#: Cycles before a part that are not counted: a new session's first ones allocate memory.
_WARM_UP_OF_PART = 2


class OnnxRuntimeBackend(Backend):
    """ONNX Runtime's CPU provider.

    Args:
        threads: Threads that work on one layer; None for as many as this process may use processors.
    """

    name: ClassVar[str] = "onnxruntime"

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads

    def problem(self) -> Problem | None:
        """Why it cannot be used here."""
        try:
            import onnxruntime  # noqa: F401
        except ImportError as error:
            return Problem(f"onnxruntime cannot be imported ({error})", "pip install onnxruntime")
        return None

    def load(self, network: Network, settings: LoadSettings) -> LoadedNetwork:
        """Load an ONNX network; it computes in the types that the file has."""
        return OnnxRuntimeNetwork(runnable_model(network, settings), network, settings.seed, self.threads)


class OnnxRuntimeNetwork(LoadedNetwork):
    """A network that ONNX Runtime has loaded.

    Args:
        model: The network, with weights.
        network: Where it came from.
        seed: Draws its input.
        threads: As for `OnnxRuntimeBackend`.
    """

    def __init__(self, model: ModelProto, network: Network, seed: int, threads: int | None) -> None:
        self._network = network
        self._threads = threads or _usable_processors()
        self._content = _serialized(model, network)
        self._feed = _random_inputs(model, network, seed)
        self._plain = self._session(None)
        events = self._profile_once()
        self._names = tuple(event.name for event in events)
        self._facts = NetworkFacts(
            layers=tuple(layer_entries(model, events)),
            profiled=self._names,
            input_shape=tuple(next(iter(self._feed.values())).shape),
            precision=str(next(iter(self._feed.values())).dtype),
            true_layer_ends=True,
            settings={"threads": self._threads, "optimisation": _LEVEL, "provider": "CPUExecutionProvider"},
            versions={"onnxruntime": _version()},
            bindings=(*self._feed, *(output.name for output in model.graph.output)),
        )

    @property
    def facts(self) -> NetworkFacts:
        """What is known of it."""
        return self._facts

    def warm_up(self, cycles: int) -> None:
        """Run cycles without the profiler."""
        for _ in range(cycles):
            self._plain.run(None, self._feed)

    def run_plain(self, cycles: int, stop: Stop) -> Cycles:
        """Run cycles without the profiler."""
        return self._timed(self._plain, cycles, stop)

    def run(self, cycles: int, stop: Stop) -> Iterator[Cycles]:
        """Run profiled cycles, a profile's worth at a time."""
        most = max(1, _EVENTS_AT_ONCE // (len(self._names) + _EVENTS_OF_CYCLE) - _WARM_UP_OF_PART)
        left = cycles
        while left > 0 and not stop():
            part = self._run_part(min(left, most), stop)
            left -= len(part)
            if len(part):
                yield part

    def _run_part(self, cycles: int, stop: Stop) -> Cycles:
        with tempfile.TemporaryDirectory(prefix="edgewatt-") as folder:
            session = self._session(Path(folder))
            for _ in range(_WARM_UP_OF_PART):
                session.run(None, self._feed)
            wall_before, until = _wall_offset_ns(), time.monotonic() + _PART_S
            timed = self._timed(session, cycles, lambda: stop() or time.monotonic() > until)
            began_ns = int(session.get_profiling_start_time_ns())
            profile = read_profile(Path(session.end_profiling()))
        return cycles_of(profile, began_ns, wall_before, timed, self._names)

    def _timed(self, session: Any, cycles: int, stop: Stop) -> Cycles:
        starts: list[int] = []
        ends: list[int] = []
        now, feed, run = time.monotonic_ns, self._feed, session.run
        for _ in range(cycles):
            if stop():
                break
            start = now()
            run(None, feed)
            ends.append(now())
            starts.append(start)
        return plain_cycles(starts, ends)

    def _profile_once(self) -> list[Any]:
        """The layers' events of one cycle, in the order of execution."""
        with tempfile.TemporaryDirectory(prefix="edgewatt-") as folder:
            session = self._session(Path(folder))
            try:
                session.run(None, self._feed)
            except Exception as error:  # of a type that depends on the runtime's version
                raise self._refused("run", error) from error
            events = layer_events(read_profile(Path(session.end_profiling())))
        if not events:
            raise EdgewattError("the network runs no operation", where=self._network.path, fix="Give another network")
        return events

    def _session(self, profile_folder: Path | None) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.log_severity_level = 3  # errors; its warnings are about the file, and would come for every part
        if profile_folder is not None:
            options.enable_profiling = True
            options.profile_file_prefix = str(profile_folder / "profile")
        try:
            return onnxruntime.InferenceSession(self._content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime raises types of its own, without a common base
            raise self._refused("load", error) from error

    def _refused(self, what: str, error: Exception) -> EdgewattError:
        return EdgewattError(
            f"ONNX Runtime cannot {what} it: {str(error).strip().splitlines()[0][:300]}",
            where=self._network.path,
            fix="Check its input's shape, export the network again, or use another backend",
        )


def _serialized(model: ModelProto, network: Network) -> bytes:
    try:
        return bytes(model.SerializeToString())
    except ValueError as error:  # protobuf holds no more than 2 GB
        raise EdgewattError(f"the network is too large: {error}", where=network.path) from error


def _random_inputs(model: ModelProto, network: Network, seed: int) -> dict[str, NDArray[Any]]:
    random = np.random.default_rng(seed)
    feed = {}
    for value in network_inputs(model):
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = input_shapes(model, network)[value.name]
        if np.issubdtype(dtype, np.floating):
            feed[value.name] = random.standard_normal(shape).astype(dtype)
        else:
            feed[value.name] = np.zeros(shape, dtype)  # an index or a flag: zero is always in range
    return feed


def _usable_processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _wall_offset_ns() -> int:
    """What the wall clock shows more than the monotonic one, from the closest of some pairs of readings."""
    pairs = [(time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(5)]
    before, wall, after = min(pairs, key=lambda pair: pair[2] - pair[0])
    return wall - (before + after) // 2


def _version() -> str:
    import onnxruntime

    return str(onnxruntime.__version__)
