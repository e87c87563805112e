"""The few calls of CUDA's driver that running an engine needs, through the driver's own library.

`libcuda` comes with the driver, on a Jetson and on a desktop, so no Python package is needed. It works in the
device's primary context, which TensorRT and PyTorch use too. Names and numbers are those of CUDA's driver API.
"""

from __future__ import annotations

import ctypes
import sys
from types import TracebackType
from typing import Any

from typing_extensions import Self

from edgewatt.backends.base import Problem
from edgewatt.errors import NoDeviceError

_LIBRARIES = ("libcuda.so.1", "libcuda.so")
_NON_BLOCKING = 1
_FIX = (
    "On a Jetson, install JetPack; in a container, start it with `--runtime nvidia`; on a desktop, install NVIDIA's "
    "driver"
)


def load_driver() -> Any:
    """The driver's library, or None where there is none."""
    if sys.platform != "linux":
        return None
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def cuda_problem(driver: Any = None) -> Problem | None:
    """Why CUDA cannot be used here; None when it can.

    Asked before anything of TensorRT's runtime is made: without CUDA that does not fail, but crashes later.

    Args:
        driver: The driver's library; None to load it.
    """
    driver = driver if driver is not None else load_driver()
    if driver is None:
        return Problem("there is no CUDA driver (libcuda.so.1)", _FIX)
    status = int(driver.cuInit(0))
    if status:
        return Problem(f"CUDA cannot be started: {_error(driver, status)}", _FIX)
    count = ctypes.c_int()
    status = int(driver.cuDeviceGetCount(ctypes.byref(count)))
    if status or count.value < 1:
        return Problem("CUDA finds no device", _FIX)
    return None


class CudaDevice:
    """The first CUDA device, with one stream and the buffers that were made.

    Args:
        driver: The driver's library; None to load it.

    Raises:
        NoDeviceError: CUDA cannot be used here.
    """

    def __init__(self, driver: Any = None) -> None:
        self._driver = driver if driver is not None else load_driver()
        problem = cuda_problem(self._driver)
        if problem is not None:
            raise NoDeviceError(problem.what, fix=problem.fix)
        self._device, self._context, self._stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
        self._buffers: list[int] = []
        self._call("cuDeviceGet", ctypes.byref(self._device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), self._device)
        self._call("cuCtxSetCurrent", self._context)
        self._call("cuStreamCreate", ctypes.byref(self._stream), _NON_BLOCKING)

    @property
    def stream(self) -> int:
        """The stream's handle."""
        return int(self._stream.value or 0)

    @property
    def name(self) -> str:
        """The device's name."""
        text = ctypes.create_string_buffer(256)
        self._call("cuDeviceGetName", text, len(text), self._device)
        return text.value.decode("utf-8", "replace")

    @property
    def driver_version(self) -> str:
        """The CUDA version that the driver supports, such as 12.6."""
        version = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(version))
        return f"{version.value // 1000}.{version.value % 1000 // 10}"

    def allocate(self, size: int) -> int:
        """Allocate memory on the device, filled with zeros; its address."""
        address = ctypes.c_uint64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        self._buffers.append(int(address.value))
        self._call("cuMemsetD8_v2", address, ctypes.c_ubyte(0), ctypes.c_size_t(max(size, 1)))
        return int(address.value)

    def copy_to_device(self, address: int, content: bytes) -> None:
        """Copy bytes to an address on the device."""
        self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), content, ctypes.c_size_t(len(content)))

    def synchronize(self) -> None:
        """Wait until everything in the stream is done."""
        status = self._driver.cuStreamSynchronize(self._stream)
        if status:
            raise NoDeviceError(f"CUDA failed while the network ran: {_error(self._driver, status)}")

    def close(self) -> None:
        """Free everything; errors no longer matter."""
        for address in self._buffers:
            self._driver.cuMemFree_v2(ctypes.c_uint64(address))
        self._buffers.clear()
        self._driver.cuStreamDestroy_v2(self._stream)
        self._driver.cuDevicePrimaryCtxRelease_v2(self._device)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, function: str, *arguments: Any) -> None:
        status = int(getattr(self._driver, function)(*arguments))
        if status:
            raise NoDeviceError(
                f"CUDA's {function} failed: {_error(self._driver, status)}",
                fix="Free memory on the GPU, or end what else uses it",
            )


def _error(driver: Any, status: int) -> str:
    text = ctypes.c_char_p()
    if driver.cuGetErrorString(status, ctypes.byref(text)) or text.value is None:
        return f"error {status}"
    return f"{text.value.decode('utf-8', 'replace')} (error {status})"
