"""One TensorRT engine with its execution contexts, buffers and layers.

    start                                end       reports
    |--- enqueue ... layers on the GPU ---|  layer 1 | layer 2 | ...      with a profiler
    |--- enqueue ... layers on the GPU ---|                               without

With a profiler attached an enqueue by default waits, reads the event timers and reports, all in one call. The contexts
here are told not to, wherever TensorRT lets them (8.2 and later), so that a cycle's end is that of its inference.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import orjson

from edgewatt.backends.cuda import CudaDevice
from edgewatt.backends.tensorrt_profiler import make_profiler
from edgewatt.errors import EdgewattError

#: Room for any element type that an engine can have.
_MOST_BYTES = 8
_NUMPY_TYPES = {"FLOAT": np.float32, "HALF": np.float16}
#: Inferences until the layers that are reported are known: the first may load kernels.
_FIRST_CYCLES = 2


class TensorRTEngine:
    """An engine that is ready to run.

    Args:
        trt: The TensorRT module.
        plan: The serialized engine.
        device: Where it runs; CUDA has been checked by then, without which the library crashes.
        where: Where it came from, for errors.
        input_shapes: Shape of each input whose shape the engine leaves open; others keep theirs.
        seed: Draws its inputs.

    Raises:
        EdgewattError: The engine is of another version or device, or a shape is not possible.
    """

    def __init__(
        self,
        trt: Any,
        plan: bytes,
        device: CudaDevice,
        where: str,
        input_shapes: Mapping[str, tuple[int, ...]] | tuple[int, ...] | None = None,
        seed: int = 0,
    ) -> None:
        self._trt, self._device, self._where = trt, device, where
        self._logger = trt.Logger(trt.Logger.WARNING)
        self._runtime = trt.Runtime(self._logger)
        self._engine = self._runtime.deserialize_cuda_engine(plan)
        if self._engine is None:
            raise EdgewattError(
                "TensorRT cannot load the engine",
                where=where,
                fix="An engine only runs on the version and the kind of GPU that it was built with; build it here",
            )
        self.inputs: dict[str, tuple[int, ...]] = {}
        self._plain, self._profiled = self._context(), self._context()
        self._set_shapes(input_shapes)
        self._bind(np.random.default_rng(seed))
        self.layers = self._inspect()
        self._profiler = make_profiler(trt)
        self._profiled.profiler = self._profiler
        self._reports_apart = hasattr(self._profiled, "report_to_profiler")
        if self._reports_apart:
            self._profiled.enqueue_emits_profile = False
        for _ in range(_FIRST_CYCLES):
            reports = self.run_profiled()[2]
        self.profiled = tuple(report[0] for report in reports)

    @property
    def bindings(self) -> tuple[str, ...]:
        """Names of its inputs and outputs."""
        return tuple(self._engine.get_tensor_name(index) for index in range(self._engine.num_io_tensors))

    @property
    def auxiliary_streams(self) -> int:
        """Streams beside the main one, on which layers may run at the same time."""
        return int(getattr(self._engine, "num_aux_streams", 0))

    def run_plain(self) -> tuple[int, int]:
        """Run one inference without the profiler; its start and end on the monotonic clock in ns."""
        start = time.monotonic_ns()
        self._enqueue(self._plain)
        self._device.synchronize()
        return start, time.monotonic_ns()

    def run_profiled(self) -> tuple[int, int, list[tuple[str, float, int]]]:
        """Run one inference with the profiler; start, end, and what was reported."""
        start = time.monotonic_ns()
        self._enqueue(self._profiled)
        self._device.synchronize()
        end = time.monotonic_ns()
        if self._reports_apart:
            self._profiled.report_to_profiler()
        return start, end, self._profiler.take()

    def _enqueue(self, context: Any) -> None:
        if not context.execute_async_v3(self._device.stream):
            raise EdgewattError("TensorRT could not run the network", where=self._where, fix="Its messages are above")

    def _context(self) -> Any:
        context = self._engine.create_execution_context()
        if context is None:
            raise EdgewattError(
                "TensorRT has no memory to run the engine", where=self._where, fix="Free memory on the GPU"
            )
        if not hasattr(context, "execute_async_v3"):
            raise EdgewattError(f"TensorRT {self._trt.__version__} is too old", fix="Use TensorRT 8.6 or later")
        return context

    def _set_shapes(self, wanted: Mapping[str, tuple[int, ...]] | tuple[int, ...] | None) -> None:
        for name in self.bindings:
            if self._engine.get_tensor_mode(name) != self._trt.TensorIOMode.INPUT:
                continue
            shape = tuple(self._engine.get_tensor_shape(name))
            asked = wanted.get(name) if isinstance(wanted, Mapping) else wanted if not self.inputs else None
            if -1 in shape:
                # The shape that the engine was tuned for, unless told otherwise.
                shape = asked or tuple(self._engine.get_tensor_profile_shape(name, 0)[1])
                for context in (self._plain, self._profiled):
                    if not context.set_input_shape(name, shape):
                        raise EdgewattError(
                            f"the engine does not work on an input {name!r} of {list(shape)}", where=self._where
                        )
            elif asked is not None and asked != shape:
                raise EdgewattError(
                    f"the engine was built for an input {name!r} of {list(shape)}, not {list(asked)}",
                    where=self._where,
                    fix="Leave --input-shape away, or give the ONNX file",
                )
            self.inputs[name] = shape

    def _bind(self, random: np.random.Generator) -> None:
        """Give every input and output a buffer, which the two contexts share: they never run at the same time."""
        for name in self.bindings:
            shape = tuple(self._plain.get_tensor_shape(name))
            elements = prod(shape) if -1 not in shape else int(self._plain.get_max_output_size(name))
            address = self._device.allocate(elements * _MOST_BYTES)
            dtype = _NUMPY_TYPES.get(str(self._engine.get_tensor_dtype(name)).rsplit(".", 1)[-1])
            if name in self.inputs and dtype is not None:
                self._device.copy_to_device(address, random.standard_normal(elements).astype(dtype).tobytes())
            for context in (self._plain, self._profiled):
                context.set_tensor_address(name, address)

    def _inspect(self) -> tuple[Mapping[str, Any] | str, ...]:
        """The inspector's layers; with a context, so that shapes that the engine leaves open are known."""
        inspector = self._engine.create_engine_inspector()
        inspector.execution_context = self._plain
        text = inspector.get_engine_information(self._trt.LayerInformationFormat.JSON)
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise EdgewattError(
                f"TensorRT's description of the engine is not JSON: {error}", where=self._where
            ) from error
        return tuple(value.get("Layers", []))
