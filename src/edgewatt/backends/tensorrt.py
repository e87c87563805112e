"""TensorRT: an ONNX file built into an engine, or an engine file, run in an execution context of our own.

TensorRT comes with the device (JetPack, or NVIDIA's container) and is imported only when it is used. Building and
profiling are tested against NVIDIA's own libraries on machines without a GPU (the builder of TensorRT-RTX, the profiler
of the lean runtime); running an engine is tested with stand-ins of the same interface.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any, ClassVar

from edgewatt.backends.base import (
    CYCLES_AT_ONCE,
    Backend,
    Cycles,
    LoadedNetwork,
    LoadSettings,
    NetworkFacts,
    Problem,
    Stop,
    plain_cycles,
)
from edgewatt.backends.cuda import CudaDevice, cuda_problem
from edgewatt.backends.network import Network
from edgewatt.backends.onnx_model import runnable_model
from edgewatt.backends.tensorrt_build import build_engine
from edgewatt.backends.tensorrt_engine import TensorRTEngine
from edgewatt.backends.tensorrt_profiler import ReportedCycles
from edgewatt.errors import EdgewattError, NoDeviceError, warn
from edgewatt.wording import counted

_GET_IT = (
    "On a Jetson it comes with JetPack for the system's Python: make the virtual environment with "
    "`--system-site-packages`. Elsewhere use NVIDIA's TensorRT container, or `pip install tensorrt`"
)


def import_tensorrt(name: str = "tensorrt") -> ModuleType:
    """Import TensorRT, or another module with its interface (`tensorrt_lean`, `tensorrt_rtx`).

    Raises:
        NoDeviceError: It is not installed, or its libraries are missing.
    """
    try:
        module = importlib.import_module(name)
    except (ImportError, OSError) as error:
        raise NoDeviceError(f"{name} cannot be imported ({error})", fix=_GET_IT) from error
    if not hasattr(module, "IProfiler"):
        raise NoDeviceError(f"{name} is installed without its libraries", fix=_GET_IT)
    return module


class TensorRTBackend(Backend):
    """TensorRT, 8.6 to 11.

    Args:
        module: Name of its module.
    """

    name: ClassVar[str] = "tensorrt"

    def __init__(self, module: str = "tensorrt") -> None:
        self.module = module

    def problem(self) -> Problem | None:
        """Why it cannot be used here."""
        try:
            import_tensorrt(self.module)
        except NoDeviceError as error:
            return Problem(error.what, error.fix or _GET_IT)
        return cuda_problem()

    def load(self, network: Network, settings: LoadSettings) -> LoadedNetwork:
        """Build an ONNX network's engine, or read an engine's file."""
        trt = import_tensorrt(self.module)
        device = CudaDevice()
        if network.kind == "onnx":
            plan = build_engine(trt, runnable_model(network, settings), settings.precision, network)
        elif network.kind == "engine":
            plan = network.path.read_bytes()
        else:
            raise EdgewattError(
                "an engine's description cannot be run", where=network.path, fix="Give the ONNX file, or the engine"
            )
        engine = TensorRTEngine(trt, plan, device, str(network.path), settings.input_shape, settings.seed)
        return TensorRTNetwork(trt, engine, device, settings.precision)


class TensorRTNetwork(LoadedNetwork):
    """A network as one engine.

    Args:
        trt: The TensorRT module.
        engine: The engine.
        device: Where it runs.
        precision: What it was asked to compute in.
    """

    def __init__(self, trt: Any, engine: TensorRTEngine, device: CudaDevice, precision: str) -> None:
        self._engine, self._device = engine, device
        if engine.auxiliary_streams:
            warn(
                f"the engine uses {engine.auxiliary_streams} further streams: layers that ran at the same time are "
                "reported as if one came after the other",
                fix="Build it with max_aux_streams = 0, or give the ONNX file",
            )
        self._facts = NetworkFacts(
            layers=engine.layers,
            profiled=engine.profiled,
            input_shape=next(iter(engine.inputs.values()), ()),
            precision=precision,
            true_layer_ends=False,
            settings={"device": device.name, "auxiliary_streams": engine.auxiliary_streams},
            versions={"tensorrt": str(trt.__version__), "cuda_driver": device.driver_version},
            bindings=engine.bindings,
        )

    @property
    def facts(self) -> NetworkFacts:
        """What is known of it."""
        return self._facts

    def warm_up(self, cycles: int) -> None:
        """Run cycles in both contexts, with the profiler and without."""
        for _ in range(cycles):
            self._engine.run_plain()
            self._engine.run_profiled()

    def run_plain(self, cycles: int, stop: Stop) -> Cycles:
        """Run cycles without the profiler."""
        times = []
        for _ in range(cycles):
            if stop():
                break
            times.append(self._engine.run_plain())
        return plain_cycles([start for start, _ in times], [end for _, end in times])

    def run(self, cycles: int, stop: Stop) -> Iterator[Cycles]:
        """Run profiled cycles, some at a time."""
        reported, done = ReportedCycles(self._facts.profiled), 0
        while done < cycles and not stop():
            times = []
            for _ in range(min(CYCLES_AT_ONCE, cycles - done)):
                if stop():
                    break
                start, end, reports = self._engine.run_profiled()
                done += 1
                if reported.add(reports):
                    times.append((start, end))
            latency, ends = reported.take()
            edges = plain_cycles([start for start, _ in times], [end for _, end in times])
            yield Cycles(edges.start_ns, edges.end_ns, latency, ends)
        if reported.dropped:
            warn(f"{counted(reported.dropped, 'cycle', ('is', 'are'))} left out: TensorRT reported others in them")

    def close(self) -> None:
        """Free the device's memory."""
        self._device.close()
