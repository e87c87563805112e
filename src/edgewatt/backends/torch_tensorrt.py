"""Torch-TensorRT, as the base method has it: a PyTorch network exported, compiled, and its engines profiled.

What Torch-TensorRT offers for profiling changes with its version:

- 2.2 to 2.12: a compiled module's `enable_profiling` takes a profiler. Only the first that is ever given collects:
  later ones are ignored without a word, so each engine is given one, once.
- from 2.13 on: it takes none and prints instead. The serialized engines are taken out of the compiled network and run
  in execution contexts of our own, one after the other. What PyTorch runs between them is then not part of a cycle.

A network that TensorRT cannot run as a whole is cut into several engines with PyTorch between them. Every one of them
is profiled, and their layers follow each other in the order in which the engines run.

Nothing here has been run on a device. What depends on versions is tested with stand-ins; the calls themselves are
written after Torch-TensorRT's sources of 2.2 to 2.13.
"""

from __future__ import annotations

import importlib
import inspect
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

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
from edgewatt.backends.tensorrt import import_tensorrt
from edgewatt.backends.tensorrt_engine import TensorRTEngine
from edgewatt.backends.tensorrt_profiler import LayerProfiler, ReportedCycles, make_profiler
from edgewatt.errors import EdgewattError, NoDeviceError, warn

_GET_IT = (
    "Use NVIDIA's PyTorch container (on a Jetson its igpu variant), which has torch, torchvision, tensorrt and "
    "torch_tensorrt of one build"
)
_MODULES = ("torch", "torchvision", "torch_tensorrt")
_TYPES = {"float32": "float32", "float16": "float16", "bfloat16": "bfloat16"}
#: Where the versions keep a compiled part's serialized engine.
_ENGINE_ATTRIBUTES = ("serialized_engine", "engine")


class Runner(Protocol):
    """Runs all engines of a network."""

    layers: tuple[Mapping[str, Any] | str, ...]

    def cycle(self) -> tuple[int, int, list[tuple[str, float, int]]]:
        """Run one inference with the profiler; its start and end in ns, and what was reported."""

    def plain_cycle(self) -> tuple[int, int] | None:
        """Run one inference without the profiler; None where that is no longer possible."""


class TorchTensorRTBackend(Backend):
    """Torch-TensorRT with the networks of torchvision, their weights drawn."""

    name: ClassVar[str] = "torch_tensorrt"

    def problem(self) -> Problem | None:
        """Why it cannot be used here."""
        for module in _MODULES:
            try:
                importlib.import_module(module)
            except (ImportError, OSError) as error:
                return Problem(f"{module} cannot be imported ({error})", _GET_IT)
        try:
            import_tensorrt()
        except NoDeviceError as error:
            return Problem(error.what, _GET_IT)
        return cuda_problem()

    def load(self, network: Network, settings: LoadSettings) -> LoadedNetwork:
        """Export and compile a network of torchvision."""
        problem = self.problem()
        if problem is not None:
            raise NoDeviceError(problem.what, fix=problem.fix)
        torch, torch_tensorrt = (importlib.import_module(name) for name in ("torch", "torch_tensorrt"))
        trt = import_tensorrt()
        dtype = _dtype(torch, settings.precision)
        shape = settings.input_shape or (1, 3, 224, 224)
        torch.manual_seed(settings.seed)
        model = _torchvision_model(network).eval().to("cuda", dtype)
        example = torch.randn(shape).to("cuda", dtype)
        compiled = compile_network(torch, torch_tensorrt, model, example, dtype)
        parts = tensorrt_parts(compiled)
        if not parts:
            raise EdgewattError(
                "Torch-TensorRT made no engine of the network: PyTorch runs all of it",
                where=network.name,
                fix="Give an ONNX file and use the backend tensorrt",
            )
        runner = make_runner(trt, torch, compiled, parts, example)
        return TorchTensorRTNetwork(
            runner,
            NetworkFacts(
                layers=runner.layers,
                profiled=(),
                input_shape=tuple(shape),
                precision=settings.precision,
                true_layer_ends=False,
                settings={"engines": len(parts), "torch_blocks": _torch_blocks(compiled, parts)},
                versions={
                    "torch": str(torch.__version__),
                    "torch_tensorrt": str(torch_tensorrt.__version__),
                    "tensorrt": str(trt.__version__),
                },
            ),
        )


def compile_network(torch: Any, torch_tensorrt: Any, model: Any, example: Any, dtype: Any) -> Any:
    """Export a network and compile it, with whatever this version needs for engines that tell their layers.

    Args:
        torch: The module torch.
        torch_tensorrt: The module torch_tensorrt.
        model: The network, on the device.
        example: An input.
        dtype: What to compute in.
    """
    exported = torch.export.export(model, (example,))
    dynamo = torch_tensorrt.dynamo
    known = inspect.signature(dynamo.compile).parameters
    takes_anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    wanted: dict[str, Any] = {
        "enabled_precisions": {dtype},
        "min_block_size": 1,
        "use_python_runtime": True,  # the one whose modules take a profiler; ignored from 2.13 on
    }
    debugger = getattr(dynamo, "Debugger", None)
    if debugger is None:
        wanted["debug"] = True  # up to 2.7 the only way to engines with detailed layers
    options = {name: value for name, value in wanted.items() if name in known or takes_anything}
    if debugger is None:
        return dynamo.compile(exported, inputs=[example], **options)
    parameters = inspect.signature(debugger).parameters
    with debugger(**({"save_engine_profile": True} if "save_engine_profile" in parameters else {})):
        return dynamo.compile(exported, inputs=[example], **options)


def tensorrt_parts(compiled: Any) -> list[Any]:
    """The parts of a compiled network that are engines, in the order in which they run."""
    children = [module for name, module in compiled.named_modules() if name]
    parts = [module for module in children if _is_engine(module)]
    return parts or ([compiled] if _is_engine(compiled) else [])


def takes_profiler(part: Any) -> bool:
    """Whether a part's `enable_profiling` takes a profiler of ours (2.2 to 2.12, Python runtime)."""
    method = getattr(part, "enable_profiling", None)
    return method is not None and "profiler" in inspect.signature(method).parameters


def serialized_engine(part: Any) -> bytes:
    """The serialized engine of a part.

    Raises:
        EdgewattError: This version keeps it somewhere else.
    """
    for name in _ENGINE_ATTRIBUTES:
        value = getattr(part, name, None)
        value = getattr(value, "serialized_engine", value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value)
    raise EdgewattError(
        "this Torch-TensorRT does not hand out its engines",
        fix="Give the network as ONNX and use the backend tensorrt",
    )


def make_runner(trt: Any, torch: Any, compiled: Any, parts: Sequence[Any], example: Any) -> Runner:
    """The way to run and profile the engines of a compiled network that this version has."""
    if all(takes_profiler(part) for part in parts):
        return AttachedRunner(trt, torch, compiled, parts, example)
    warn(
        "this Torch-TensorRT takes no profiler: its engines are run by themselves, without what PyTorch runs between"
    )
    device = CudaDevice()
    engines = [
        TensorRTEngine(trt, serialized_engine(part), device, f"engine {number}")
        for number, part in enumerate(parts, start=1)
    ]
    return SeparateRunner(engines)


class AttachedRunner:
    """Runs the compiled network, with a profiler attached to each engine once.

    Args:
        trt: The TensorRT module.
        torch: The module torch.
        compiled: The compiled network.
        parts: Its engines.
        example: Its input.

    Attributes:
        layers: The inspector's layers of all engines.
    """

    def __init__(self, trt: Any, torch: Any, compiled: Any, parts: Sequence[Any], example: Any) -> None:
        self._torch, self._compiled, self._parts, self._example = torch, compiled, parts, example
        self._trt = trt
        self._profilers: list[LayerProfiler] = []
        self._run()  # from 2.5 on engines are loaded by their first run
        self.layers = tuple(layer for part in parts for layer in _layers_of(part))

    def plain_cycle(self) -> tuple[int, int] | None:
        """Run one inference, unless a profiler is attached already: it cannot be taken off again."""
        return None if self._profilers else self._run()

    def cycle(self) -> tuple[int, int, list[tuple[str, float, int]]]:
        """Run one inference with the profilers."""
        if not self._profilers:
            self._profilers = [make_profiler(self._trt) for _ in self._parts]
            for part, profiler in zip(self._parts, self._profilers, strict=True):
                part.enable_profiling(profiler=profiler)
        start, end = self._run()
        return start, end, [report for profiler in self._profilers for report in profiler.take()]

    def _run(self) -> tuple[int, int]:
        with self._torch.no_grad():
            start = time.monotonic_ns()
            self._compiled(self._example)
            self._torch.cuda.synchronize()
            return start, time.monotonic_ns()


class SeparateRunner:
    """Runs the engines one after the other, each in contexts of our own.

    Args:
        engines: The engines.

    Attributes:
        layers: The inspector's layers of all engines.
    """

    def __init__(self, engines: Sequence[TensorRTEngine]) -> None:
        self._engines = engines
        self.layers = tuple(layer for engine in engines for layer in engine.layers)

    def plain_cycle(self) -> tuple[int, int] | None:
        """Run one inference without the profiler."""
        edges = [engine.run_plain() for engine in self._engines]
        return edges[0][0], edges[-1][1]

    def cycle(self) -> tuple[int, int, list[tuple[str, float, int]]]:
        """Run one inference with the profiler."""
        runs = [engine.run_profiled() for engine in self._engines]
        return runs[0][0], runs[-1][1], [report for _, _, reports in runs for report in reports]


class TorchTensorRTNetwork(LoadedNetwork):
    """A network that Torch-TensorRT has compiled.

    Args:
        runner: What runs it.
        facts: What is known of it, but for the layers that are reported.
    """

    def __init__(self, runner: Runner, facts: NetworkFacts) -> None:
        self._runner = runner
        self._known = facts
        self._names: tuple[str, ...] = ()

    @property
    def facts(self) -> NetworkFacts:
        """What is known of it; which layers are reported, only once profiling has begun."""
        return NetworkFacts(**{**self._known.__dict__, "profiled": self._names})

    def warm_up(self, cycles: int) -> None:
        """Run cycles without the profiler."""
        for _ in range(cycles):
            self._runner.plain_cycle()

    def run_plain(self, cycles: int, stop: Stop) -> Cycles:
        """Run cycles without the profiler."""
        times = []
        for _ in range(cycles):
            edges = None if stop() else self._runner.plain_cycle()
            if edges is None:
                break
            times.append(edges)
        return plain_cycles([start for start, _ in times], [end for _, end in times])

    def begin_profiling(self) -> None:
        """Attach the profilers and see what they report; the first cycle with them may load kernels."""
        self._runner.cycle()
        self._names = tuple(name for name, _, _ in self._runner.cycle()[2])

    def run(self, cycles: int, stop: Stop) -> Iterator[Cycles]:
        """Run profiled cycles, some at a time."""
        reported, done = ReportedCycles(self._names), 0
        while done < cycles and not stop():
            times = []
            for _ in range(min(CYCLES_AT_ONCE, cycles - done)):
                if stop():
                    break
                start, end, reports = self._runner.cycle()
                done += 1
                if reported.add(reports):
                    times.append((start, end))
            latency, ends = reported.take()
            edges = plain_cycles([start for start, _ in times], [end for _, end in times])
            yield Cycles(edges.start_ns, edges.end_ns, latency, ends)
        if reported.dropped:
            warn(f"{reported.dropped} cycles are left out: other layers were reported in them")


def _dtype(torch: Any, precision: str) -> Any:
    if precision not in _TYPES:
        raise EdgewattError(f"this backend cannot compute in {precision}", fix=f"Use one of {', '.join(_TYPES)}")
    return getattr(torch, _TYPES[precision])


def _torchvision_model(network: Network) -> Any:
    models = importlib.import_module("torchvision.models")
    if not network.random_weights or network.name not in models.list_models():
        raise EdgewattError(
            f"{network.name} is no network of torchvision",
            fix="Give the name of one, or use the backend tensorrt, which runs ONNX files",
        )
    return models.get_model(network.name, weights=None)


def _is_engine(module: Any) -> bool:
    return type(module).__name__ in ("PythonTorchTensorRTModule", "TorchTensorRTModule", "TRTEngine")


def _torch_blocks(compiled: Any, parts: Sequence[Any]) -> int:
    """Parts at the top that PyTorch runs."""
    return sum(1 for _, module in compiled.named_children() if not any(module is part for part in parts))


def _layers_of(part: Any) -> list[Mapping[str, Any] | str]:
    """The inspector's layers of a part, as its `get_layer_info` gives them."""
    text = part.get_layer_info()
    value = json.loads(text) if isinstance(text, str) else text
    layers: list[Mapping[str, Any] | str] = value.get("Layers", [])
    return layers
