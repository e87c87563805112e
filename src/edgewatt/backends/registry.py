"""The backends by name, and which one is used where none is named."""

from __future__ import annotations

from collections.abc import Callable

from edgewatt.backends.base import Backend
from edgewatt.errors import EdgewattError, NoDeviceError


def _tensorrt() -> Backend:
    from edgewatt.backends.tensorrt import TensorRTBackend

    return TensorRTBackend()


def _torch_tensorrt() -> Backend:
    from edgewatt.backends.torch_tensorrt import TorchTensorRTBackend

    return TorchTensorRTBackend()


def _trtexec() -> Backend:
    from edgewatt.backends.trtexec import TrtexecBackend

    return TrtexecBackend()


def _onnxruntime() -> Backend:
    from edgewatt.backends.onnxruntime import OnnxRuntimeBackend

    return OnnxRuntimeBackend()


def _simulated() -> Backend:
    from edgewatt.backends.simulated import SimulatedBackend

    return SimulatedBackend()


#: What makes each backend, by its name; a backend's module is imported only when it is made.
BACKENDS: dict[str, Callable[[], Backend]] = {
    "tensorrt": _tensorrt,
    "torch_tensorrt": _torch_tensorrt,
    "trtexec": _trtexec,
    "onnxruntime": _onnxruntime,
    "simulated": _simulated,
}


def choose_backend(name: str | None = None) -> Backend:
    """The backend of a name; without one TensorRT where it can be used, else ONNX Runtime on the CPU.

    Raises:
        EdgewattError: There is no backend of that name.
        NoDeviceError: The named backend cannot be used here.
    """
    if name is None:
        tensorrt = BACKENDS["tensorrt"]()
        return tensorrt if tensorrt.problem() is None else BACKENDS["onnxruntime"]()
    key = name.lower().replace("-", "_")
    if key not in BACKENDS:
        raise EdgewattError(f"there is no backend {name!r}", fix=f"Use one of: {', '.join(BACKENDS)}")
    backend = BACKENDS[key]()
    problem = backend.problem()
    if problem is not None:
        raise NoDeviceError(f"the backend {key} cannot be used here: {problem.what}", fix=problem.fix)
    return backend
