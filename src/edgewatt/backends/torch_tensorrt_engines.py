"""The engines inside of a network that Torch-TensorRT compiled, and the ways to run and profile them."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from edgewatt.backends.cuda import CudaDevice
from edgewatt.backends.tensorrt_engine import TensorRTEngine
from edgewatt.backends.tensorrt_profiler import LayerProfiler, make_profiler
from edgewatt.errors import EdgewattError, warn

#: Where the versions keep a compiled part's serialized engine.
_ENGINE_ATTRIBUTES = ("serialized_engine", "engine")


class Runner(Protocol):
    """Runs all engines of a network."""

    layers: tuple[Mapping[str, Any] | str, ...]

    def cycle(self) -> tuple[int, int, list[tuple[str, float, int]]]:
        """Run one inference with the profiler; its start and end in ns, and what was reported."""

    def plain_cycle(self) -> tuple[int, int] | None:
        """Run one inference without the profiler; None where that is no longer possible."""


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
    warn("this Torch-TensorRT takes no profiler: its engines are run by themselves, without what PyTorch runs between")
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


def _is_engine(module: Any) -> bool:
    return type(module).__name__ in ("PythonTorchTensorRTModule", "TorchTensorRTModule", "TRTEngine")


def _layers_of(part: Any) -> list[Mapping[str, Any] | str]:
    """The inspector's layers of a part, as its `get_layer_info` gives them."""
    text = part.get_layer_info()
    value = json.loads(text) if isinstance(text, str) else text
    layers: list[Mapping[str, Any] | str] = value.get("Layers", [])
    return layers
