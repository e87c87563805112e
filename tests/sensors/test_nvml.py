"""NVML through a stand-in for its library: what each GPU supports is what differs."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import sensor_trees as trees

from edgewatt.errors import NoDeviceError
from edgewatt.sensors.discovery import Discovery, _with_total, discover
from edgewatt.sensors.nvml import find_nvml


class NVMLError(Exception):
    pass


class NVMLErrorNotSupported(NVMLError):  # noqa: N818 - the library's name
    pass


class FakeNvml(ModuleType):
    """The functions of pynvml that are used, for GPUs given as dictionaries of what they support."""

    NVML_SUCCESS = 0
    NVMLError = NVMLError

    def __init__(self, gpus: list[dict[str, float]]) -> None:
        super().__init__("pynvml")
        self.gpus = gpus
        self.users = 0

    def nvmlInit(self) -> None:  # noqa: N802
        self.users += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.users -= 1

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return "595.78"

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> dict[str, float]:  # noqa: N802
        assert self.users > 0
        return self.gpus[index]

    def nvmlDeviceGetName(self, gpu: dict[str, float]) -> bytes:  # noqa: N802
        return f"GPU of {len(gpu)}".encode()

    def nvmlDeviceGetFieldValues(self, gpu: dict[str, float], fields: list[int]) -> list[SimpleNamespace]:  # noqa: N802
        assert fields == [186]
        known = "instant" in gpu
        value = SimpleNamespace(uiVal=gpu.get("instant", 0))
        return [SimpleNamespace(nvmlReturn=0 if known else 3, value=value)]

    def nvmlDeviceGetTotalEnergyConsumption(self, gpu: dict[str, float]) -> float:  # noqa: N802
        return self._get(gpu, "energy")

    def nvmlDeviceGetPowerUsage(self, gpu: dict[str, float]) -> float:  # noqa: N802
        return self._get(gpu, "usage")

    def _get(self, gpu: dict[str, float], name: str) -> float:
        if name not in gpu:
            raise NVMLErrorNotSupported
        return gpu[name]


@pytest.fixture
def fake_nvml(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeNvml]:
    def install(*gpus: dict[str, float]) -> FakeNvml:
        library = FakeNvml(list(gpus))
        monkeypatch.setitem(sys.modules, "pynvml", library)
        return library

    return install


def test_instant_power_in_milliwatts(fake_nvml: Callable[..., FakeNvml]) -> None:
    library = fake_nvml({"instant": 61_250, "usage": 58_000, "energy": 5_000})
    found, reason = find_nvml()
    assert found is not None
    assert reason == ""
    assert library.users == 0
    with found as sensor:
        (reading,) = sensor.read()
        assert reading.power_w == pytest.approx(61.25)
        assert sensor.read_total() == (1000.0, pytest.approx(61_250.0))
        library.gpus[0]["instant"] = 70_000
        assert sensor.read()[0].power_w == pytest.approx(70.0)
    assert library.users == 0
    assert found.settings().as_dict() == {"driver": "NVIDIA 595.78", "GPU0": "GPU of 3: power at this instant"}


def test_the_first_quantity_that_works_is_taken(fake_nvml: Callable[..., FakeNvml]) -> None:
    fake_nvml({"usage": 30_000}, {"energy": 8_000, "usage": 30_000}, {})
    found, _ = find_nvml()
    assert found is not None
    assert [rail.label for rail in found.rails] == ["GPU0", "GPU1"]
    settings = found.settings().as_dict()
    assert settings["GPU0"].endswith("mean power over a second")
    assert settings["GPU1"].endswith("mean power from the energy counter")


def test_energy_counter_in_millijoules(fake_nvml: Callable[..., FakeNvml], monkeypatch: pytest.MonkeyPatch) -> None:
    library = fake_nvml({"energy": 8_000})
    found, _ = find_nvml()
    assert found is not None
    now_s = [10.0]
    monkeypatch.setattr(found.channels[0]._counter, "_clock", lambda: now_s[0])  # type: ignore[attr-defined]
    with found as sensor:
        library.gpus[0]["energy"] = 10_500
        now_s[0] += 0.05
        assert sensor.read()[0].power_w == pytest.approx(50.0)  # 2.5 J in 50 ms


def test_nvml_that_starts_but_supports_nothing_is_no_sensor(fake_nvml: Callable[..., FakeNvml], tmp_path: Path) -> None:
    library = fake_nvml({})
    assert find_nvml() == (None, "NVML supports no power reading of GPU of 0")
    assert library.users == 0
    with pytest.raises(NoDeviceError, match="NVML supports no power reading"):
        discover(tmp_path, "nvml")


def test_a_counter_that_stands_at_zero_is_no_sensor(fake_nvml: Callable[..., FakeNvml]) -> None:
    fake_nvml({"energy": 0})
    assert find_nvml()[0] is None


def test_an_error_during_reading_is_counted(fake_nvml: Callable[..., FakeNvml]) -> None:
    library = fake_nvml({"usage": 30_000})
    found, _ = find_nvml()
    assert found is not None
    with found as sensor:
        del library.gpus[0]["usage"]
        assert sensor.read_total() is None
        assert sensor.errors == {"nvml:GPU0": {"NVMLErrorNotSupported": 1}}
        library.gpus[0]["usage"] = 31_000
        assert sensor.read_total() == (1000.0, 31_000.0)


def test_a_sensor_can_be_pickled_while_open(fake_nvml: Callable[..., FakeNvml]) -> None:
    fake_nvml({"usage": 30_000})
    found, _ = find_nvml()
    assert found is not None
    with found, pickle.loads(pickle.dumps(found)) as copy:
        assert copy.read_total() == (1000.0, 30_000.0)


def test_nvml_beside_a_known_board_by_name_only(fake_nvml: Callable[..., FakeNvml], tmp_path: Path) -> None:
    fake_nvml({"usage": 30_000})
    tree = trees.orin_nano(tmp_path)
    assert [sensor.name for sensor in discover(tree.root).sensors] == ["ina3221@1-0040"]
    found = discover(tree.root, "nvml")
    assert found.total is not None
    assert [rail.label for rail in found.total.rails] == ["GPU0"]


def test_processor_and_gpus_add_up(fake_nvml: Callable[..., FakeNvml], tmp_path: Path) -> None:
    fake_nvml({"usage": 30_000})
    trees.Tree(tmp_path).add_rapl({"intel-rapl:0": ("package-0", 5), "intel-rapl:1": ("psys", 5)})
    processor, gpus = discover(tmp_path), discover(tmp_path, "nvml")
    sensors = processor.sensors + tuple(s for s in gpus.sensors if s.chip == "nvml")
    found = _with_total(Discovery(processor.board, sensors, None))
    assert found.total is not None
    assert [rail.full_name for rail in found.total.rails] == ["rapl:package-0", "nvml:GPU0"]
    assert found.total.reason.startswith("RAPL's packages and memory and the GPUs that NVML reads")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert find_nvml() == (None, "nvidia-ml-py is not installed (pip install nvidia-ml-py)")


def test_the_real_library_without_a_driver() -> None:
    library = pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    try:
        library.nvmlInit()
    except library.NVMLError:
        found, reason = find_nvml()
        assert found is None
        assert reason.startswith("NVML cannot be started")
    else:
        library.nvmlShutdown()
        pytest.skip("this machine has NVIDIA's driver")
