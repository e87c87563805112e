from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from fake_tensorrt import LAYERS, runtime_module
from test_backend_cuda import FakeDriver

from edgewatt.backends.base import NetworkFacts
from edgewatt.backends.torch_tensorrt import TorchTensorRTBackend, TorchTensorRTNetwork, compile_network
from edgewatt.backends.torch_tensorrt_engines import (
    AttachedRunner,
    SeparateRunner,
    make_runner,
    serialized_engine,
    takes_profiler,
    tensorrt_parts,
)
from edgewatt.errors import EdgewattError, EdgewattWarning, NoDeviceError


class PythonTorchTensorRTModule:
    """A compiled part of 2.2 to 2.12: only the first profiler that it is given is ever called."""

    serialized_engine = b"{}"

    def __init__(self, *layers: str) -> None:
        self.layers, self.profiler, self.given = layers, None, 0

    def enable_profiling(self, profiler: Any = None) -> None:
        self.given += 1
        self.profiler = self.profiler or profiler

    def get_layer_info(self) -> str:
        return json.dumps({"Layers": [{"Name": name} for name in self.layers]})

    def run(self) -> None:
        for index, name in enumerate(self.layers):
            if self.profiler is not None:
                self.profiler.report_layer_time(name, 1.0 + index)


class TorchTensorRTModule:
    """A compiled part of 2.13: it takes no profiler."""

    def __init__(self, engine: bytes = b"{}") -> None:
        self.engine = SimpleNamespace(serialized_engine=engine)

    def enable_profiling(self, _directory: str | None = None) -> None:
        raise AssertionError("it would print instead")


class GraphModule:
    """A network, or a part that PyTorch runs."""

    def __init__(self, **children: Any) -> None:
        self.children = children

    def named_children(self) -> list[tuple[str, Any]]:
        return list(self.children.items())

    def named_modules(self) -> Iterator[tuple[str, Any]]:
        yield "", self
        for name, child in self.children.items():
            yield name, child
            if isinstance(child, GraphModule):
                yield from ((f"{name}.{inner}", part) for inner, part in child.named_modules() if inner)

    def __call__(self, _example: Any) -> None:
        for child in self.children.values():
            if hasattr(child, "run"):
                child.run()


_TORCH = SimpleNamespace(no_grad=contextlib.nullcontext, cuda=SimpleNamespace(synchronize=lambda: None))
_FACTS = NetworkFacts((), (), (1, 3, 8, 8), "float16", False)


def _partitioned() -> tuple[GraphModule, list[PythonTorchTensorRTModule]]:
    """Two engines with a block of PyTorch before and between them."""
    first, second = PythonTorchTensorRTModule("conv", "pool"), PythonTorchTensorRTModule("conv", "fc")
    compiled = GraphModule(
        _run_on_gpu_0=GraphModule(), _run_on_acc_1=first, _run_on_gpu_2=GraphModule(), _run_on_acc_3=second
    )
    return compiled, [first, second]


def test_every_engine_of_a_partitioned_network_is_found() -> None:
    compiled, parts = _partitioned()
    assert tensorrt_parts(compiled) == parts
    assert tensorrt_parts(GraphModule(_run_on_gpu_0=GraphModule())) == []
    only = PythonTorchTensorRTModule("conv")
    only.named_modules = lambda: iter([("", only)])  # type: ignore[attr-defined]
    assert tensorrt_parts(only) == [only]


def test_each_engine_gets_one_profiler_once_and_all_reports_are_kept() -> None:
    compiled, parts = _partitioned()
    runner = make_runner(runtime_module(), _TORCH, compiled, parts, "input")
    assert isinstance(runner, AttachedRunner)
    assert [layer["Name"] for layer in runner.layers if isinstance(layer, dict)] == ["conv", "pool", "conv", "fc"]
    assert runner.plain_cycle() is not None
    for _ in range(3):
        start, end, reports = runner.cycle()
        assert start <= end
        assert [(name, ms) for name, ms, _ in reports] == [("conv", 1.0), ("pool", 2.0), ("conv", 1.0), ("fc", 2.0)]
    assert [part.given for part in parts] == [1, 1]
    assert runner.plain_cycle() is None, "a profiler cannot be taken off again"


def test_versions_that_take_no_profiler_run_their_engines_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgewatt.backends.cuda.load_driver", FakeDriver)
    parts = [TorchTensorRTModule(), TorchTensorRTModule()]
    with pytest.warns(EdgewattWarning, match="takes no profiler"):
        runner = make_runner(runtime_module(), _TORCH, GraphModule(), parts, "input")
    assert isinstance(runner, SeparateRunner)
    assert list(runner.layers) == LAYERS * 2
    start, end, reports = runner.cycle()
    assert start < end
    assert [name for name, _, _ in reports] == ["conv", "fc"] * 2
    assert runner.plain_cycle() is not None


def test_what_takes_a_profiler_is_told_by_its_signature() -> None:
    assert takes_profiler(PythonTorchTensorRTModule())
    assert not takes_profiler(TorchTensorRTModule())
    assert not takes_profiler(GraphModule())


def test_engines_are_taken_from_where_the_version_keeps_them() -> None:
    assert serialized_engine(PythonTorchTensorRTModule()) == b"{}"
    assert serialized_engine(TorchTensorRTModule(b"plan")) == b"plan"
    with pytest.raises(EdgewattError, match="does not hand out its engines"):
        serialized_engine(GraphModule())


def _modules(compile_function: Any, debugger: Any = None) -> tuple[Any, Any]:
    dynamo = SimpleNamespace(compile=compile_function)
    if debugger is not None:
        dynamo.Debugger = debugger
    torch = SimpleNamespace(export=SimpleNamespace(export=lambda model, inputs: ("exported", model, inputs)))
    return torch, SimpleNamespace(dynamo=dynamo)


def test_early_versions_are_asked_for_layers_by_debug() -> None:
    def compile_2_4(
        exported: Any, inputs: Any, *, debug: bool = False, use_python_runtime: Any = None, **_: Any
    ) -> Any:
        return exported, inputs, debug, use_python_runtime

    torch, torch_tensorrt = _modules(compile_2_4)
    result = compile_network(torch, torch_tensorrt, "model", "example", "half")
    assert result == (("exported", "model", ("example",)), ["example"], True, True)


def test_later_versions_are_asked_for_layers_by_their_debugger() -> None:
    seen: list[Any] = []

    @contextlib.contextmanager
    def debugger(*, save_engine_profile: bool = False) -> Iterator[None]:
        seen.append(save_engine_profile)
        yield
        seen.append("left")

    def compile_2_13(*_: Any, inputs: Any, min_block_size: int = 5) -> int:
        seen.append(("compiled", inputs))
        return min_block_size

    assert compile_network(*_modules(compile_2_13, debugger), "model", "example", "half") == 1
    assert seen == [True, ("compiled", ["example"]), "left"]


def test_a_network_learns_what_is_reported_when_profiling_begins() -> None:
    compiled, parts = _partitioned()
    network = TorchTensorRTNetwork(make_runner(runtime_module(), _TORCH, compiled, parts, "input"), _FACTS)
    network.warm_up(2)
    assert network.facts.profiled == ()
    assert len(network.run_plain(4, lambda: False)) == 4
    network.begin_profiling()
    assert network.facts.profiled == ("conv", "pool", "conv", "fc")
    parts_run = list(network.run(120, lambda: False))
    assert [part.latency_ms.shape for part in parts_run] == [(100, 4), (20, 4)]
    assert len(network.run_plain(4, lambda: False)) == 0


def test_without_its_libraries_it_says_how_to_get_them() -> None:
    problem = TorchTensorRTBackend().problem()
    if problem is None:
        pytest.skip("Torch-TensorRT can be used here")
    assert "container" in problem.fix
    with pytest.raises(NoDeviceError):
        TorchTensorRTBackend().load(None, None)  # type: ignore[arg-type]  # refused before they are looked at
