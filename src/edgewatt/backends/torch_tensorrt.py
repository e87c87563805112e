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
from collections.abc import Iterator, Sequence
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
from edgewatt.backends.cuda import cuda_problem
from edgewatt.backends.network import Network
from edgewatt.backends.tensorrt import import_tensorrt
from edgewatt.backends.tensorrt_profiler import ReportedCycles
from edgewatt.backends.torch_tensorrt_engines import Runner, make_runner, tensorrt_parts
from edgewatt.errors import EdgewattError, NoDeviceError, warn
from edgewatt.wording import counted

_GET_IT = (
    "Use NVIDIA's PyTorch container (on a Jetson its igpu variant), which has torch, torchvision, tensorrt and "
    "torch_tensorrt of one build"
)
_MODULES = ("torch", "torchvision", "torch_tensorrt")
_TYPES = {"float32": "float32", "float16": "float16", "bfloat16": "bfloat16"}


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
            warn(f"{counted(reported.dropped, 'cycle', ('is', 'are'))} left out: other layers were reported in them")


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


def _torch_blocks(compiled: Any, parts: Sequence[Any]) -> int:
    """Parts at the top that PyTorch runs."""
    return sum(1 for _, module in compiled.named_children() if not any(module is part for part in parts))
