from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import sensor_trees as trees

from edgewatt.errors import EdgewattError, NoDeviceError
from edgewatt.sensors.discovery import Discovery, discover
from edgewatt.sensors.simulated import SHARED_POWER_VARIABLE


def total_power_w(found: Discovery) -> float:
    with found.total_sensor() as sensor:
        pair = sensor.read_total()
    assert pair is not None
    return pair[0] * pair[1] / 1e6


def total_labels(found: Discovery) -> list[str]:
    assert found.total is not None
    return [rail.label for rail in found.total.rails]


def test_orin_nano(tmp_path: Path) -> None:
    found = discover(trees.orin_nano(tmp_path).root)
    assert found.board.name == "NVIDIA Jetson Orin Nano Developer Kit"
    assert found.board.family is not None
    assert found.board.family.name == "Jetson Orin Nano / Orin NX"
    assert [rail.label for rail in found.rails] == ["VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"]
    assert [sensor.name for sensor in found.sensors] == ["ina3221@1-0040"]
    assert total_labels(found) == ["VDD_IN"]
    with found.total_sensor() as sensor:
        assert sensor.read_total() == (5000, 1096)  # exactly what the files hold
    assert total_power_w(found) == pytest.approx(5.480)
    assert [rail.current_step_a for rail in found.rails] == [pytest.approx(0.008)] * 3
    assert found.notes == ()


@pytest.mark.parametrize("hwmon", ["hwmon0", "hwmon3", "hwmon12"])
def test_the_number_of_hwmon_does_not_matter(tmp_path: Path, hwmon: str) -> None:
    assert total_power_w(discover(trees.orin_nano(tmp_path, hwmon).root)) == pytest.approx(5.480)


def test_another_chip_comes_first(tmp_path: Path) -> None:
    tree = trees.orin_nano(tmp_path, "hwmon2")
    tree.add_hwmon("tmp451", "1-004c", "hwmon0", {"temp1_input": 41000, "temp1_label": "VDD_IN"})
    tree.write("sys/class/hwmon/hwmon1/name", "nvme")
    found = discover(tree.root)
    assert [sensor.name for sensor in found.sensors] == ["ina3221@1-0040"]
    assert total_power_w(found) == pytest.approx(5.480)


@pytest.mark.parametrize("jetpack", [5, 6])
def test_agx_orin(tmp_path: Path, jetpack: int) -> None:
    found = discover(trees.agx_orin(tmp_path, jetpack=jetpack).root)
    assert total_labels(found) == ["VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"]
    # 12.008 V x 0.280 A + 12.008 V x 0.040 A + 4.968 V x 0.980 A, without VDDQ's 0.397 W
    assert total_power_w(found) == pytest.approx(8.711, abs=0.0005)
    assert [rail.label for rail in found.rails][3:] == ["VDDQ_VDD2_1V8AO"]
    with found.total_sensor() as sensor:
        voltage_mv, current_ma = sensor.read_total() or (0, 0)
    assert voltage_mv == 12008  # the first rail's
    assert current_ma == pytest.approx(8711.2 / 12.008, abs=0.01)


def test_igx_orin_is_told_from_agx_orin(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board(*trees.MODELS["igx-orin"])
    tree.add_ina3221("1-0040", "hwmon3", trees.AGX_ORIN_RAILS, shunt=2000)
    found = discover(tree.root)
    assert found.board.family is not None
    assert found.board.family.name == "IGX Orin"
    assert total_power_w(found) == pytest.approx(8.711, abs=0.0005)


def test_xavier_nx_under_the_hwmon_driver(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board(*trees.MODELS["xavier-nx"])
    rails = {1: ("VDD_IN", 4976, 712), 2: ("VDD_CPU_GPU_CV", 4976, 72), 3: ("VDD_SOC", 4976, 200)}
    tree.add_ina3221("7-0040", "hwmon6", rails)
    found = discover(tree.root)
    assert len(found.rails) == 3  # the sum of shunt voltages is no rail
    assert total_labels(found) == ["VDD_IN"]
    assert total_power_w(found) == pytest.approx(3.542912)


def test_xavier_nx_under_the_iio_driver(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board(*trees.MODELS["xavier-nx"])
    tree.add_ina3221x("7-0040", 0, {0: ("VDD_IN", 4976, 712), 1: ("VDD_CPU_GPU_CV", 4976, 72), 2: ("VDD_SOC", 4976, 0)})
    found = discover(tree.root)
    assert [(rail.label, rail.channel) for rail in found.rails] == [
        ("VDD_IN", 0),
        ("VDD_CPU_GPU_CV", 1),
        ("VDD_SOC", 2),
    ]
    assert found.sensors[0].name == "ina3221x@7-0040"
    assert total_power_w(found) == pytest.approx(3.542912)


def test_nano(tmp_path: Path) -> None:
    found = discover(trees.nano(tmp_path).root)
    assert total_labels(found) == ["POM_5V_IN"]
    assert total_power_w(found) == pytest.approx(0.931776)  # the children are within it


@pytest.mark.parametrize("empty_driver", [False, True])
def test_nano_2gb_has_no_sensor(tmp_path: Path, empty_driver: bool) -> None:
    tree = trees.Tree(tmp_path).name_board(*trees.MODELS["nano-2gb"])
    if empty_driver:
        for name in ("bind", "unbind", "uevent"):
            tree.write(f"sys/bus/i2c/drivers/ina3221x/{name}", "")
    with pytest.raises(NoDeviceError, match=r"Nano 2GB Developer Kit has no power sensor.*external meter") as caught:
        discover(tree.root)
    assert caught.value.exit_status == 3


def test_tx2_with_its_carrier_board(tmp_path: Path) -> None:
    found = discover(trees.tx2(tmp_path).root)
    assert total_labels(found) == ["VDD_IN", "VDD_MUX"]
    # 19.152 V x 0.272 A + 19.136 V x 0.080 A
    assert total_power_w(found) == pytest.approx(5.209344 + 1.530880)


def test_tx2_module_alone(tmp_path: Path) -> None:
    found = discover(trees.tx2(tmp_path, carrier=False).root)
    assert total_labels(found) == ["VDD_IN"]
    assert total_power_w(found) == pytest.approx(5.209344)


def test_tx1_does_not_take_the_m2_slot_for_its_input(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board(*trees.MODELS["tx1"])
    tree.add_ina3221x("1-0040", 0, {0: ("VDD_IN", 19000, 100), 1: ("VDD_GPU", 19000, 8), 2: ("VDD_CPU", 19000, 8)})
    tree.add_ina3221x("1-0042", 2, {0: ("VDD_MUX", 19000, 50)})
    tree.add_ina3221x("1-0043", 3, {2: ("VDD_M2_IN", 3300, 400)})
    found = discover(tree.root)
    assert total_labels(found) == ["VDD_IN", "VDD_MUX"]
    assert total_power_w(found) == pytest.approx(1.9 + 0.95)


def test_tx2_nx(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board(*trees.MODELS["tx2-nx"])
    tree.add_ina3221x("7-0040", 0, {0: ("VDD_IN", 5000, 400), 1: ("VDD_CPU_GPU", 5000, 80), 2: ("VDD_SOC", 5000, 100)})
    found = discover(tree.root)
    assert found.board.family is not None
    assert found.board.family.name == "Jetson TX2 NX"
    assert total_power_w(found) == pytest.approx(2.0)


def test_agx_xavier_is_the_sum_of_six(tmp_path: Path) -> None:
    found = discover(trees.agx_xavier(tmp_path).root)
    assert total_labels(found) == ["GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"]
    # 1.15488 + 0.38496 + 2.50224 + 0 + 0.19248 + 2.69212 W; the board's own tool says 6.928 W
    assert total_power_w(found) == pytest.approx(6.92668)


def test_agx_thor_takes_vin_in_microwatts(tmp_path: Path) -> None:
    found = discover(trees.thor(tmp_path).root)
    assert total_labels(found) == ["VIN"]
    with found.total_sensor() as sensor:
        assert sensor.read_total() == (1000.0, 20986.0)  # nominal voltage, so that mV x mA is the power
        (reading,) = sensor.read()
    assert reading.power_w == pytest.approx(20.986)
    assert reading.voltage_v == pytest.approx(19.875)
    assert reading.current_a == pytest.approx(1.056)


def test_negative_currents_are_values(tmp_path: Path) -> None:
    found = discover(trees.thor(tmp_path, gpu_ma=-20).root, "VDD_GPU")
    assert total_power_w(found) == pytest.approx(-0.39728)


@pytest.mark.parametrize("shown", ["drivers", "devices", "class"])
def test_any_one_view_of_sysfs_is_enough(tmp_path: Path, shown: str) -> None:
    tree = trees.orin_nano(tmp_path)
    views = {"drivers": "sys/bus/i2c/drivers", "devices": "sys/bus/i2c/devices", "class": "sys/class"}
    for view, path in views.items():
        if view != shown:
            shutil.rmtree(tmp_path / path)
    found = discover(tree.root)
    assert [sensor.name for sensor in found.sensors] == ["ina3221@1-0040"]
    assert total_power_w(found) == pytest.approx(5.480)


def test_a_linked_driver_folder(tmp_path: Path) -> None:
    tree = trees.orin_nano(tmp_path)
    drivers = tmp_path / "sys/bus/i2c/drivers"
    (drivers / "ina3221").rename(tmp_path / "sys/moved")
    (drivers / "ina3221").symlink_to("../../../moved")
    for path in ("sys/bus/i2c/devices", "sys/class"):
        shutil.rmtree(tmp_path / path)
    # Links within the moved folder lead nowhere now, as they would in a broken copy of sysfs.
    (tmp_path / "sys/moved/1-0040").unlink()
    (tmp_path / "sys/moved/1-0040").symlink_to(tmp_path / "sys/devices/platform/bus@0/c240000.i2c/i2c-1/1-0040")
    assert total_power_w(discover(tree.root)) == pytest.approx(5.480)


def test_files_straight_in_the_device_folder(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board(*trees.MODELS["orin-nano"])
    folder = "sys/bus/i2c/devices/1-0040"
    for name, content in {"name": "ina3221", "in1_label": "VDD_IN", "in1_input": 5000, "curr1_input": 200}.items():
        tree.write(f"{folder}/{name}", content)
    assert total_power_w(discover(tree.root)) == pytest.approx(1.0)


def test_unknown_board_is_refused_a_total(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board("Home-made board")
    tree.add_ina3221("1-0040", "hwmon1", {1: ("MAIN", 5000, 100), 2: ("PART", 5000, 50)}, enabled=(1, 2))
    found = discover(tree.root)
    assert found.total is None
    with pytest.raises(NoDeviceError, match=r"MAIN, PART.*--sensor RAIL\[\+RAIL\]") as caught:
        found.total_sensor()
    assert caught.value.exit_status == 3
    assert total_power_w(discover(tree.root, "MAIN")) == pytest.approx(0.5)
    assert total_power_w(discover(tree.root, "MAIN+part")) == pytest.approx(0.75)
    assert total_power_w(discover(tree.root, "ina3221@1-0040:PART")) == pytest.approx(0.25)
    with pytest.raises(EdgewattError, match=r"no rail or sensor 'MIAN'.*MAIN, PART") as misspelt:
        discover(tree.root, "MIAN")
    assert misspelt.value.exit_status == 2
    with pytest.raises(EdgewattError, match="names a rail twice"):
        discover(tree.root, "MAIN+MAIN")


def test_the_model_identifies_where_compatible_is_missing(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board("NVIDIA Jetson AGX Orin Developer Kit")
    tree.add_ina3221("1-0040", "hwmon3", trees.AGX_ORIN_RAILS, shunt=2000)
    assert total_power_w(discover(tree.root)) == pytest.approx(8.711, abs=0.0005)


@pytest.mark.parametrize(
    ("build", "name", "power_w"),
    [
        (trees.orin_nano, "Jetson Xavier NX or Jetson Orin Nano / Orin NX", 5.480),
        (lambda root: trees.agx_orin(root, jetpack=6), "IGX Orin or Jetson AGX Orin", 8.7112),
        (trees.agx_xavier, "Jetson AGX Xavier", 6.92668),
        (trees.tx2, "Jetson TX2", 6.740224),
        (trees.nano, "Jetson Nano", 0.931776),
        (trees.thor, "Jetson AGX Thor", 20.986),
    ],
)
def test_a_container_that_hides_the_device_tree(
    tmp_path: Path, build: Callable[[Path], trees.Tree], name: str, power_w: float
) -> None:
    tree = build(tmp_path)
    shutil.rmtree(tmp_path / "proc/device-tree")
    found = discover(tree.root)
    assert found.board.name == name
    assert total_power_w(found) == pytest.approx(power_w)
    assert found.notes == ("the device tree is not visible, as in containers: the board was told by its rails",)


def test_rails_alone_do_not_tell_a_board_with_others(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path)
    tree.add_ina3221("1-0040", "hwmon1", {1: ("VDD_IN", 5000, 100)}, enabled=(1,))
    assert discover(tree.root).total is None
    tree.add_ina3221("1-0041", "hwmon2", {1: ("VDD_CPU_GPU_CV", 5000, 10), 2: ("LAMP", 5000, 10)}, enabled=(1, 2))
    assert discover(tree.root).total is None


def test_the_firmware_names_a_board_in_a_container(tmp_path: Path) -> None:
    tree = trees.orin_nano(tmp_path)
    shutil.rmtree(tmp_path / "proc/device-tree")
    tree.write("sys/class/dmi/id/sys_vendor", "NVIDIA")
    tree.write("sys/class/dmi/id/product_name", "NVIDIA Jetson Orin Nano Developer Kit")
    found = discover(tree.root)
    assert found.board.family is not None
    assert found.board.family.name == "Jetson Orin Nano / Orin NX"
    assert found.notes == ()


def test_the_module_counts_more_than_the_model(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board(
        "Vendor box with AGX Orin look", "vendor,box", "nvidia,p3509-0000+p3767-0003"
    )
    tree.add_ina3221("1-0040", "hwmon1", trees.ORIN_NANO_RAILS)
    assert total_labels(discover(tree.root)) == ["VDD_IN"]


def test_known_board_without_its_input_rail(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board(*trees.MODELS["orin-nano"])
    tree.add_ina3221("1-0040", "hwmon1", {2: ("VDD_CPU_GPU_CV", 5000, 88)}, enabled=(2,))
    found = discover(tree.root)
    assert found.total is None
    assert found.no_total is not None
    assert "does not show its input's rails" in found.no_total


def test_two_chips_with_the_same_label(tmp_path: Path) -> None:
    tree = trees.orin_nano(tmp_path)
    tree.add_ina3221("8-0041", "hwmon7", {1: ("VDD_IN", 12000, 500)}, enabled=(1,))
    found = discover(tree.root)
    assert found.total is None
    with pytest.raises(EdgewattError, match=r"2 rails are called VDD_IN.*ina3221@1-0040:1, ina3221@8-0041:1"):
        discover(tree.root, "VDD_IN")
    assert total_power_w(discover(tree.root, "ina3221@8-0041:VDD_IN")) == pytest.approx(6.0)


def test_wrong_shunt_is_told(tmp_path: Path) -> None:
    tree = trees.Tree(tmp_path).name_board(*trees.MODELS["orin-nano"])
    tree.add_ina3221("1-0040", "hwmon1", {1: ("VDD_IN", 5000, 548)}, shunt=10000, enabled=(1,))
    (note,) = discover(tree.root).notes
    assert "steps of 4 mA where these boards have 8 mA: true currents would be 2 times those shown" in note


def test_a_chip_by_name(tmp_path: Path) -> None:
    tree = trees.thor(tmp_path)
    assert total_labels(discover(tree.root, "ina238")) == ["VIN"]
    found = discover(tree.root, "ina3221")
    assert [sensor.name for sensor in found.sensors] == ["ina3221@2-0040"]
    assert found.total is None
    with pytest.raises(NoDeviceError, match="has no sensor rapl"):
        discover(tree.root, "rapl")


def test_no_sensor_asked_for(tmp_path: Path) -> None:
    found = discover(trees.orin_nano(tmp_path).root, "none")
    assert found.sensors == ()
    with pytest.raises(NoDeviceError, match="no sensor was asked for"):
        found.total_sensor()


def test_simulated_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SHARED_POWER_VARIABLE, raising=False)
    found = discover(tmp_path, "simulated")
    assert total_labels(found) == ["VDD_IN"]
    assert 3.9 < total_power_w(found) < 4.5


def test_empty_root(tmp_path: Path) -> None:
    with pytest.raises(NoDeviceError, match="no power sensor was found on unknown board"):
        discover(tmp_path)


def test_usb_supplies_are_no_sensors(tmp_path: Path) -> None:
    tree = trees.orin_nano(tmp_path)
    tree.write("sys/class/hwmon/hwmon9/name", "ucsi_source_psy_USBC000:001")
    tree.write("sys/class/hwmon/hwmon9/power1_input", 15000000)
    assert [sensor.chip for sensor in discover(tree.root).sensors] == ["ina3221"]


def test_sensors_can_be_pickled_and_read_elsewhere(tmp_path: Path) -> None:
    sensor = discover(trees.agx_orin(tmp_path, jetpack=6).root).total_sensor()
    with sensor, pickle.loads(pickle.dumps(sensor)) as copy:
        assert copy.read_total() == sensor.read_total() is not None


def test_rails_of_a_foreign_board_are_refused(tmp_path: Path) -> None:
    found = discover(trees.orin_nano(tmp_path / "a").root)
    other = discover(trees.nano(tmp_path / "b").root)
    with pytest.raises(EdgewattError, match="has no rail ina3221x@6-0040:POM_5V_IN"):
        found.sensor_of(other.rails[:1])
    with pytest.raises(EdgewattError, match="no rails were asked for"):
        found.sensor_of([])
    with pytest.raises(EdgewattError, match="has no rail"):
        found.sensors[0].select(other.rails[:1])
