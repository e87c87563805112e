from __future__ import annotations

import ctypes
from typing import Any

import pytest

from edgewatt.backends.cuda import CudaDevice, cuda_problem
from edgewatt.errors import NoDeviceError


class FakeDriver:
    """The part of CUDA's driver that is used, over memory of this process. Outputs are what ctypes' byref points to."""

    def __init__(self, devices: int = 1, failing: str = "", status: int = 2) -> None:
        self.devices, self.failing, self.status = devices, failing, status
        self.calls: list[str] = []
        self.memory: dict[int, bytes] = {}

    def __getattribute__(self, name: str) -> Any:
        method = object.__getattribute__(self, name)
        if not name.startswith("cu"):
            return method

        def call(*arguments: Any) -> int:
            self.calls.append(name)
            return self.status if name == self.failing else method(*arguments) or 0

        return call

    def cuInit(self, flags: int) -> None:  # noqa: N802
        assert flags == 0

    def cuDeviceGetCount(self, count: Any) -> None:  # noqa: N802
        count._obj.value = self.devices

    def cuDeviceGet(self, device: Any, ordinal: int) -> None:  # noqa: N802
        device._obj.value = ordinal

    def cuDevicePrimaryCtxRetain(self, context: Any, _device: ctypes.c_int) -> None:  # noqa: N802
        context._obj.value = 7

    def cuDevicePrimaryCtxRelease_v2(self, device: ctypes.c_int) -> None:  # noqa: N802
        pass

    def cuCtxSetCurrent(self, context: ctypes.c_void_p) -> None:  # noqa: N802
        assert context.value == 7

    def cuStreamCreate(self, stream: Any, _flags: int) -> None:  # noqa: N802
        stream._obj.value = 99

    def cuStreamSynchronize(self, stream: ctypes.c_void_p) -> None:  # noqa: N802
        assert stream.value == 99

    def cuStreamDestroy_v2(self, stream: ctypes.c_void_p) -> None:  # noqa: N802
        pass

    def cuDeviceGetName(self, text: Any, _size: int, _device: ctypes.c_int) -> None:  # noqa: N802
        text.value = b"Orin"

    def cuDriverGetVersion(self, version: Any) -> None:  # noqa: N802
        version._obj.value = 12060

    def cuMemAlloc_v2(self, address: Any, size: ctypes.c_size_t) -> None:  # noqa: N802
        address._obj.value = 4096 * (len(self.memory) + 1)
        self.memory[address._obj.value] = bytes(size.value)

    def cuMemsetD8_v2(self, address: ctypes.c_uint64, _value: ctypes.c_ubyte, size: ctypes.c_size_t) -> None:  # noqa: N802
        assert len(self.memory[address.value]) == size.value

    def cuMemcpyHtoD_v2(self, address: ctypes.c_uint64, content: bytes, size: ctypes.c_size_t) -> None:  # noqa: N802
        rest = self.memory[address.value][size.value :]
        self.memory[address.value] = content[: size.value] + rest

    def cuMemFree_v2(self, address: ctypes.c_uint64) -> None:  # noqa: N802
        del self.memory[address.value]

    def cuGetErrorString(self, _status: int, text: Any) -> None:  # noqa: N802
        text._obj.value = b"out of memory"


def test_a_machine_without_a_driver_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgewatt.backends.cuda.load_driver", lambda: None)
    problem = cuda_problem()
    assert problem is not None
    assert "no CUDA driver" in problem.what
    assert "JetPack" in problem.fix
    with pytest.raises(NoDeviceError, match="no CUDA driver"):
        CudaDevice()


def test_a_driver_without_devices_or_that_fails_is_a_problem() -> None:
    assert cuda_problem(FakeDriver()) is None
    assert "finds no device" in cuda_problem(FakeDriver(devices=0)).what  # type: ignore[union-attr]
    failing = cuda_problem(FakeDriver(failing="cuInit", status=100))
    assert failing is not None
    assert "out of memory (error 100)" in failing.what


def test_memory_is_filled_copied_to_and_freed() -> None:
    driver = FakeDriver()
    with CudaDevice(driver) as device:
        assert (device.stream, device.name, device.driver_version) == (99, "Orin", "12.6")
        address = device.allocate(8)
        device.copy_to_device(address, b"abc")
        assert driver.memory[address] == b"abc\0\0\0\0\0"
        device.synchronize()
    assert driver.memory == {}
    assert driver.calls[-2:] == ["cuStreamDestroy_v2", "cuDevicePrimaryCtxRelease_v2"]


@pytest.mark.parametrize("function", ["cuMemAlloc_v2", "cuStreamSynchronize"])
def test_a_failing_call_is_an_error_with_its_reason(function: str) -> None:
    device = CudaDevice(FakeDriver(failing=function))
    with pytest.raises(NoDeviceError, match=r"out of memory \(error 2\)"):
        device.allocate(8) if function == "cuMemAlloc_v2" else device.synchronize()
