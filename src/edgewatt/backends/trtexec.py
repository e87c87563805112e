"""trtexec, for boards without TensorRT's Python bindings: its command line is built and run, its files are read.

    build      ONNX -> engine, with the layers' description
    profile    a run of its own with the profiler: mean latencies of layers
    run        without the profiler, while power is logged: times of inferences

It tells no single layer's times in an inference, so layers have mean latencies only, and single layers' power can only
come from measuring each in isolation. Inferences are placed on the host's clock by the moment at which trtexec says
that they are done, which is good to some milliseconds: enough for the power and energy of the network as a whole.

The commands are tested with a stand-in that writes files like trtexec's, and the readers on files of TensorRT 8.4 to
10.4; it has not been run against a real trtexec.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

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
from edgewatt.backends.onnx_half import with_float16
from edgewatt.backends.onnx_model import runnable_model
from edgewatt.backends.trtexec_files import read_layer_info, read_profile, read_times
from edgewatt.errors import EdgewattError, NoDeviceError

#: Where JetPack puts it, which is on nobody's path.
_JETPACK = "/usr/src/tensorrt/bin/trtexec"
_GET_IT = (
    "On a Jetson: sudo apt install libnvinfer-bin (it is then in /usr/src/tensorrt/bin); elsewhere use NVIDIA's "
    "TensorRT container"
)
_PRECISIONS = {"float16": "--fp16", "bfloat16": "--bf16", "int8": "--int8", "float8": "--fp8"}
#: What a layer's description says in full, from 8.4 on and before.
_DETAILED = ("--profilingVerbosity=detailed", "--nvtxMode=verbose")
#: Builds an engine without running it, from 8.6 on and before.
_BUILD_ALONE = ("--skipInference", "--buildOnly")
_PROFILED_CYCLES = 200
_WARM_UP_MS = 500
#: Lines that follow directly when the last inference is done.
_DONE = re.compile(r"Timing trace has|Warmup completed|=== Trace details")
_VERSION = re.compile(r"\[TensorRT v(\d+)\]|TensorRT version: ([\d.]+)")
_KEPT_LINES = 200


class TrtexecBackend(Backend):
    """trtexec.

    Args:
        executable: The program; None to look for it.
    """

    name: ClassVar[str] = "trtexec"

    def __init__(self, executable: str | None = None) -> None:
        self.executable = executable

    def problem(self) -> Problem | None:
        """Why it cannot be used here."""
        return None if self._find() else Problem("there is no trtexec", _GET_IT)

    def load(self, network: Network, settings: LoadSettings) -> LoadedNetwork:
        """Build the engine and profile its layers, each in a run of trtexec."""
        program = self._find()
        if program is None:
            raise NoDeviceError("there is no trtexec", fix=_GET_IT)
        return TrtexecNetwork(program, network, settings)

    def _find(self) -> str | None:
        if self.executable is not None:
            return shutil.which(self.executable)
        return shutil.which("trtexec") or shutil.which(_JETPACK)


class TrtexecNetwork(LoadedNetwork):
    """A network as an engine that trtexec built.

    Args:
        program: Path of trtexec.
        network: The network.
        settings: How it is loaded.
    """

    def __init__(self, program: str, network: Network, settings: LoadSettings) -> None:
        self._program, self._network = program, network
        self._folder = tempfile.TemporaryDirectory(prefix="edgewatt-")
        self._files = Path(self._folder.name)
        self._version = ""
        self._help = _help_text(program)
        self._engine = network.path
        shape = settings.input_shape or ()
        if network.kind == "onnx":
            self._engine, shape = self._build(network, settings)
        elif network.kind != "engine":
            raise EdgewattError("an engine's description cannot be run", where=network.path, fix="Give the ONNX file")
        profile_file, info_file = self._files / "profile.json", self._files / "layers.json"
        self._trtexec(
            *self._load_options(),
            f"--iterations={_PROFILED_CYCLES}",
            f"--exportProfile={profile_file}",
            f"--exportLayerInfo={info_file}",
            *self._known(*_DETAILED),
        )
        profile, info = read_profile(profile_file), read_layer_info(info_file)
        self._means = profile.mean_ms
        self._facts = NetworkFacts(
            layers=info.layers,
            profiled=profile.names,
            input_shape=tuple(shape),
            precision=settings.precision,
            true_layer_ends=False,
            settings={"profiler_during_cycles": False, "profiled_cycles": profile.cycles, "cycle_times": "anchored"},
            versions={"tensorrt": self._version} if self._version else {},
            bindings=info.bindings,
            means_only=True,
        )

    @property
    def facts(self) -> NetworkFacts:
        """What is known of it."""
        return self._facts

    def warm_up(self, cycles: int) -> None:
        """Nothing: every run of trtexec warms up by itself."""

    def run_plain(self, cycles: int, stop: Stop) -> Cycles:  # noqa: ARG002 - it runs none
        """No cycles: those of `run` are without the profiler already."""
        return plain_cycles([], [])

    def run(self, cycles: int, stop: Stop) -> Iterator[Cycles]:
        """Run cycles without the profiler, in one run of trtexec; none where it is stopped before its end."""
        times_file = self._files / "times.json"
        done_ns = self._trtexec(
            *self._load_options(), f"--iterations={cycles}", f"--exportTimes={times_file}", stop=stop
        )
        if done_ns is None:
            return
        times_ms = read_times(times_file)[:cycles]
        # Their distances are exact; where they lie is known by when the last of them was done.
        edges_ns = ((times_ms - times_ms[-1, 1]) * 1e6).astype(np.int64) + done_ns
        yield plain_cycles(edges_ns[:, 0].tolist(), edges_ns[:, 1].tolist())

    def mean_latency_ms(self) -> NDArray[np.float64] | None:
        """Mean latency of each layer, from a run of its own with the profiler."""
        return self._means

    def close(self) -> None:
        """Remove its files."""
        self._folder.cleanup()

    def _build(self, network: Network, settings: LoadSettings) -> tuple[Path, tuple[int, ...]]:
        model = runnable_model(network, settings)
        options = [_PRECISIONS[settings.precision]] if settings.precision in _PRECISIONS else []
        if options and not self._known(*options):
            # From TensorRT 11 on a network is built in the types that it has.
            if settings.precision != "float16":
                raise EdgewattError(
                    f"this trtexec cannot build a network in {settings.precision}",
                    where=network.path,
                    fix="Export the network in that type and ask for float32, or use float16",
                )
            model, options = with_float16(model), []
        source, engine = self._files / "network.onnx", self._files / "network.engine"
        source.write_bytes(model.SerializeToString())
        self._trtexec(
            f"--onnx={source}",
            f"--saveEngine={engine}",
            *self._known(*_DETAILED),
            *self._known("--maxAuxStreams=0"),
            *self._known(*_BUILD_ALONE),
            *options,
        )
        dims = next(value for value in model.graph.input if value.type.tensor_type.shape.dim).type.tensor_type.shape.dim
        return engine, tuple(dim.dim_value for dim in dims)

    def _load_options(self) -> list[str]:
        # A duration of 0 makes the number of iterations decide alone; transfers are no part of the network.
        return [f"--loadEngine={self._engine}", f"--warmUp={_WARM_UP_MS}", "--duration=0", "--noDataTransfers"]

    def _known(self, *spellings: str) -> list[str]:
        """The first spelling of an option that this trtexec has, as a list; an unknown one would end it."""
        known = (option for option in spellings if re.search(rf"{option.partition('=')[0]}\b", self._help))
        return list(islice(known, 1))

    def _trtexec(self, *options: str, stop: Stop = lambda: False) -> int | None:
        """Run trtexec; when its inferences were done, on the monotonic clock in ns; None where it was stopped.

        Raises:
            EdgewattError: It cannot be run, or failed.
        """
        try:
            process = subprocess.Popen(
                [self._program, *options],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise EdgewattError(
                f"cannot be run: {error.strerror or error}", where=self._program, fix=_GET_IT
            ) from error
        output = _Output(process)
        try:
            while process.poll() is None:
                if stop():
                    return None
                time.sleep(0.02)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            output.join()
        self._version = self._version or output.version
        if process.returncode:
            raise EdgewattError(
                f"trtexec failed with status {process.returncode}: {output.last_error}", where=self._network.path
            )
        return output.done_ns or time.monotonic_ns()


def _help_text(program: str) -> str:
    result = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    return result.stdout + result.stderr


class _Output:
    """Reads what trtexec prints, as it prints it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.done_ns: int | None = None
        self.version = ""
        self._lines: list[str] = []
        assert process.stdout is not None
        self._thread = threading.Thread(target=self._read, args=(process.stdout.readline,), daemon=True)
        self._thread.start()

    @property
    def last_error(self) -> str:
        """The last line that tells of an error, or the last line."""
        errors = [line for line in self._lines if "[E]" in line or "rror" in line]
        lines = errors or [line for line in self._lines if line] or ["no reason given"]
        return lines[-1][:300]

    def join(self) -> None:
        """Wait for the end of the output."""
        self._thread.join(5.0)

    def _read(self, readline: Callable[[], str]) -> None:
        while line := readline():
            now = time.monotonic_ns()
            if self.done_ns is None and _DONE.search(line):
                self.done_ns = now
            match = _VERSION.search(line)
            if match and not self.version:
                self.version = _version(match)
            self._lines = [*self._lines[-_KEPT_LINES:], line.rstrip()]


def _version(match: re.Match[str]) -> str:
    if match[2]:
        return match[2]
    # 8601 is 8.6.1 and 100400 is 10.4.0: from 10 on two digits for each part.
    digits = match[1]
    if len(digits) <= 4:
        return ".".join(digits[:1] + digits[1:2] + digits[2:].lstrip("0")) if len(digits) == 4 else digits
    return ".".join(str(int(part)) for part in (digits[:-4], digits[-4:-2], digits[-2:]))
