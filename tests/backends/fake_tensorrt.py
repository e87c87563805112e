"""A TensorRT whose engines do nothing: its interface as 8.6, 10 and 11 have it, with CUDA's driver beside it."""

from __future__ import annotations

import json
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

LAYERS = [{"Name": "conv", "LayerType": "CaskConvolution"}, {"Name": "fc", "LayerType": "gemm"}]


class _IProfiler:
    def report_layer_time(self, layer_name: str, ms: float) -> None:
        raise NotImplementedError


class Logger:
    WARNING = 2

    def __init__(self, severity: int) -> None:
        self.severity = severity


class Context:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.profiler: Any = None
        self.enqueue_emits_profile = True
        self.addresses: dict[str, int] = {}
        self.shapes = dict(engine.shapes)
        self.runs = 0
        self.pending = False

    def execute_async_v3(self, _stream: int) -> bool:
        assert set(self.addresses) == set(self.engine.shapes), "every tensor needs a buffer"
        assert all(-1 not in shape for shape in self.shapes.values()), "every shape must be known"
        self.runs += 1
        self.pending = True
        if self.profiler is not None and self.enqueue_emits_profile:
            self.report_to_profiler()
        return not self.engine.failing

    def report_to_profiler(self) -> bool:
        assert self.pending
        self.pending = False
        names = self.engine.reported or [layer["Name"] for layer in LAYERS]
        for index, name in enumerate(names):
            self.profiler.report_layer_time(name, 0.5 + index)
        return True

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        if not all(low <= size <= high for low, size, high in zip((1, 3, 8, 8), shape, (8, 3, 64, 64), strict=True)):
            return False
        self.shapes[name] = shape
        self.shapes["output"] = (shape[0], 10)
        return True

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return self.shapes[name]

    def set_tensor_address(self, name: str, address: int) -> None:
        self.addresses[name] = address


class Engine:
    num_io_tensors = 2

    def __init__(self, plan: bytes) -> None:
        options = json.loads(plan)
        shape = (-1, 3, -1, -1) if options.get("dynamic") else (1, 3, 8, 8)
        self.shapes = {"input": shape, "output": (shape[0], 10)}
        self.failing = options.get("failing", False)
        self.reported: list[str] | None = None
        self.num_aux_streams = options.get("streams", 0)
        self.contexts: list[Context] = []

    def get_tensor_name(self, index: int) -> str:
        return ("input", "output")[index]

    def get_tensor_mode(self, name: str) -> str:
        return name.upper()

    def get_tensor_dtype(self, name: str) -> str:  # noqa: ARG002
        return "DataType.HALF"

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        return self.shapes[name]

    def get_tensor_profile_shape(self, name: str, profile: int) -> list[tuple[int, ...]]:
        assert (name, profile) == ("input", 0)
        return [(1, 3, 8, 8), (2, 3, 16, 16), (8, 3, 64, 64)]

    def create_execution_context(self) -> Context:
        self.contexts.append(Context(self))
        return self.contexts[-1]

    def create_engine_inspector(self) -> Any:
        engine = self

        class Inspector:
            execution_context: Any = None

            def get_engine_information(self, form: str) -> str:
                assert form == "json"
                assert self.execution_context in engine.contexts
                return json.dumps({"Layers": LAYERS, "Bindings": ["input", "output"]})

        return Inspector()


class Runtime:
    def __init__(self, logger: Logger) -> None:
        assert isinstance(logger, Logger)

    def deserialize_cuda_engine(self, plan: bytes) -> Engine | None:
        return Engine(plan) if plan.startswith(b"{") else None


def runtime_module(version: str = "10.3.0") -> Any:
    """A module that runs engines."""

    return SimpleNamespace(
        __version__=version,
        IProfiler=_IProfiler,
        Logger=Logger,
        Runtime=Runtime,
        TensorIOMode=SimpleNamespace(INPUT="INPUT", OUTPUT="OUTPUT"),
        LayerInformationFormat=SimpleNamespace(JSON="json"),
    )


class Config:
    def __init__(self, *, streams: bool) -> None:
        self.profiling_verbosity: Any = None
        self.flags: list[str] = []
        if streams:
            self.max_aux_streams = 7

    def set_flag(self, flag: str) -> None:
        self.flags.append(flag)


def builder_module(version: str) -> Any:
    """A module that builds, with the flags of a version; what was asked of it is kept in `asked`."""
    major = int(version.split(".")[0])
    flags = (
        {"TF32": "TF32"}
        if major >= 11
        else {"FP16": "FP16", "INT8": "INT8"} | ({"BF16": "BF16"} if major >= 10 else {})
    )
    creation: dict[str, int] = {}
    if major < 11:
        creation["EXPLICIT_BATCH"] = 0
    if major >= 10:
        creation["STRONGLY_TYPED"] = 1
    asked: dict[str, Any] = {}

    class Parser:
        num_errors = 1

        def __init__(self, network: Any, logger: Logger) -> None:
            pass

        def parse(self, content: bytes) -> bool:
            asked["model"] = content
            return not asked.get("unparsable")

        def get_error(self, index: int) -> Any:
            return SimpleNamespace(desc=lambda: f"no operator {index}", node=lambda: 1)

    class Builder:
        def __init__(self, logger: Logger) -> None:
            pass

        def create_network(self, flags: int) -> str:
            asked["creation"] = flags
            return "network"

        def create_builder_config(self) -> Config:
            asked["config"] = Config(streams=version != "8.5")
            return asked["config"]

        def build_serialized_network(self, _network: str, _config: Config) -> Any:
            return None if asked.get("unbuildable") else memoryview(b"plan")

    return SimpleNamespace(
        __version__=version,
        asked=asked,
        Logger=Logger,
        Builder=Builder,
        OnnxParser=Parser,
        BuilderFlag=SimpleNamespace(**flags),
        NetworkDefinitionCreationFlag=IntEnum("NetworkDefinitionCreationFlag", creation)
        if creation
        else SimpleNamespace(),
        ProfilingVerbosity=SimpleNamespace(DETAILED="detailed"),
    )
