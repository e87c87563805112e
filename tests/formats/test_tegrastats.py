from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewatt.errors import EdgewattError, EdgewattWarning, FormatError
from edgewatt.formats import tegrastats
from edgewatt.formats.rail_log import to_power_log, total_rule
from edgewatt.formats.tegrastats import read_tegrastats, spread_over_seconds

# Ends of real lines of each era, with what they stand for in mW, and the board's input.
_JETPACK_3 = "RAM 1456/7851MB (lfb 903x4MB) cpu [1%@345,off,off,0%@345,0%@345,0%@345] thermal@29.4C "
_JETPACK_4 = (
    "RAM 407/15823MB (lfb 3702x4MB) SWAP 0/7911MB (cached 0MB) CPU [1%@1190,0%@1190,off,off] EMC_FREQ 0% GR3D_FREQ 0% "
    "AO@26.5C GPU@28C Tboard@28C CPU@28C PMIC@100C "
)
_JETPACK_5 = (
    "01-03-2023 16:07:54 RAM 2257/30536MB (lfb 6x4MB) SWAP 0/15268MB (cached 0MB) CPU [0%@729,0%@729] EMC_FREQ 0%@2133 "
    "GR3D_FREQ 0%@0 VIC_FREQ 729 APE 174 CV0@-256C CPU@41.375C SOC2@38C "
)
_JETPACK_6 = (
    "01-24-2024 09:17:09 RAM 1508/6480MB (lfb 3x4MB) CPU [2%@729,0%@729] GR3D_FREQ 0%@[0,0] cpu@46.3C tj@46.3C "
)
_JETPACK_7 = (
    "07-25-2026 09:08:28 RAM 20642/62817MB (lfb 1x2MB) CPU [23%@2201,10%@2201] EMC_FREQ 3%@3199 GR3D_FREQ "
    "12%@[1300,1300] NVENC0 off cpu@52.968C/52.968C tj@52.9C/53.1C "
)
_LINES: dict[str, tuple[str, dict[str, float], float | None]] = {
    "TX2, JetPack 3": (
        _JETPACK_3 + "VDD_IN 1038/1134 VDD_CPU 153/153 VDD_GPU 153/153 VDD_SOC 384/384 VDD_WIFI 38/124 VDD_DDR 192/192",
        {"VDD_IN": 1038, "VDD_CPU": 153, "VDD_GPU": 153, "VDD_SOC": 384, "VDD_WIFI": 38, "VDD_DDR": 192},
        1038,
    ),
    "TX2, JetPack 4": (
        _JETPACK_4 + "VDD_SYS_GPU 182/182 VDD_SYS_SOC 730/730 VDD_4V0_WIFI 0/0 VDD_IN 5297/5297 VDD_SYS_CPU 1917/1917 "
        "VDD_SYS_DDR 1241/1241",
        {
            "VDD_SYS_GPU": 182,
            "VDD_SYS_SOC": 730,
            "VDD_4V0_WIFI": 0,
            "VDD_IN": 5297,
            "VDD_SYS_CPU": 1917,
            "VDD_SYS_DDR": 1241,
        },
        5297,
    ),
    "Nano": (
        _JETPACK_4 + "POM_5V_IN 933/933 POM_5V_GPU 0/0 POM_5V_CPU 84/84",
        {"POM_5V_IN": 933, "POM_5V_GPU": 0, "POM_5V_CPU": 84},
        933,
    ),
    "AGX Xavier": (
        _JETPACK_4 + "GPU 1155/1155 CPU 385/385 SOC 2504/2503 CV 0/0 VDDRQ 192/192 SYS5V 2692/2692",
        {"GPU": 1155, "CPU": 385, "SOC": 2504, "CV": 0, "VDDRQ": 192, "SYS5V": 2692},
        1155 + 385 + 2504 + 0 + 192 + 2692,
    ),
    "AGX Orin, JetPack 5": (
        _JETPACK_5 + "VDD_GPU_SOC 2390mW/2390mW VDD_CPU_CV 796mW/796mW VIN_SYS_5V0 3522mW/3522mW NC 0mW/0mW "
        "VDDQ_VDD2_1V8AO 301mW/301mW NC 0mW/0mW",
        {"VDD_GPU_SOC": 2390, "VDD_CPU_CV": 796, "VIN_SYS_5V0": 3522, "VDDQ_VDD2_1V8AO": 301},
        2390 + 796 + 3522,
    ),
    "Orin Nano": (
        _JETPACK_6 + "VDD_IN 4744mW/6179mW VDD_CPU_GPU_CV 1273mW/2369mW VDD_SOC 1234mW/1392mW",
        {"VDD_IN": 4744, "VDD_CPU_GPU_CV": 1273, "VDD_SOC": 1234},
        4744,
    ),
    "AGX Orin, JetPack 6": (
        _JETPACK_6 + "VDD_GPU_SOC 2412mW/2412mW VDD_CPU_CV 1607mW/1607mW VIN_SYS_5V0 4707mW/4674mW",
        {"VDD_GPU_SOC": 2412, "VDD_CPU_CV": 1607, "VIN_SYS_5V0": 4707},
        2412 + 1607 + 4707,
    ),
    "Thor without its input": (
        _JETPACK_6 + "VDD_GPU 0mW/0mW VDD_CPU_SOC_MSS 4165mW/4165mW VIN_SYS_5V0 4126mW/4126mW",
        {"VDD_GPU": 0, "VDD_CPU_SOC_MSS": 4165, "VIN_SYS_5V0": 4126},
        None,
    ),
    "Thor": (
        _JETPACK_6
        + "VDD_GPU -392mW/-392mW VDD_CPU_SOC_MSS 3924mW/3835mW VIN_SYS_5V0 5064mW/5055mW VIN 15004mW/15096mW",
        {"VDD_GPU": -392, "VDD_CPU_SOC_MSS": 3924, "VIN_SYS_5V0": 5064, "VIN": 15004},
        15004,
    ),
    "AGX Orin, JetPack 7": (
        _JETPACK_7
        + "VDD_GPU_SOC 5139mW/5139mW/5139mW VDD_CPU_CV 3268mW/3269mW/3270mW VIN_SYS_5V0 5500mW/5500mW/5500mW",
        {"VDD_GPU_SOC": 5139, "VDD_CPU_CV": 3268, "VIN_SYS_5V0": 5500},
        5139 + 3268 + 5500,
    ),
}


@pytest.mark.parametrize("board", _LINES)
@pytest.mark.filterwarnings("ignore::edgewatt.errors.EdgewattWarning")
def test_real_lines_of_every_era(tmp_path: Path, board: str) -> None:
    line, powers, total = _LINES[board]
    path = tmp_path / "tegrastats.log"
    path.write_text(f"{line}\n{line}\n")
    dated = line[0].isdigit()
    given_times = {} if dated else {"start_us": 5, "interval_ms": 250.0}
    log = read_tegrastats(path, **given_times)  # type: ignore[arg-type]
    assert {rail: values.tolist() for rail, values in log.power_mw.items()} == {
        rail: [power, power] for rail, power in powers.items()
    }
    if not dated:
        assert log.times_us.tolist() == [5, 250_005]
    if total is None:
        with pytest.raises(EdgewattError, match=r"which rails are the board's input is not known.*--rails"):
            total_rule(log.rails, (), path)
        return
    power = to_power_log(log, total_rule(log.rails, (), path).rails, path)
    assert power.voltage_mv.tolist() == [1000.0, 1000.0]
    assert power.power_uw.tolist() == [total * 1000] * 2  # mW to uW


rail_names = st.lists(st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True), min_size=1, max_size=5, unique=True)


@settings(deadline=None)
@given(st.data(), rail_names, st.sampled_from(["", "mW"]), st.integers(2, 3), st.integers(1, 4), st.booleans())
def test_any_rails_in_any_form(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    rails: list[str],
    unit: str,
    values: int,
    at_once: int,
    ended: bool,
) -> None:
    rails = [rail for rail in rails if rail != "NC"] or ["VDD_IN"]
    rows = data.draw(
        st.lists(st.lists(st.integers(-9999, 99999), min_size=len(rails), max_size=len(rails)), min_size=1)
    )
    lines = [
        "RAM 1/2MB CPU [1%@2] GPU@28C NC 0/0 "
        + " ".join(
            f"{rail} " + "/".join([f"{v}{unit}", *["7" + unit] * (values - 1)])
            for rail, v in zip(rails, row, strict=True)
        )
        for row in rows
    ]
    path = tmp_path_factory.mktemp("log") / "tegrastats.log"
    path.write_text("\n".join(lines) + ("\n" if ended else ""))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tegrastats, "_LINES_AT_ONCE", at_once)
        log = read_tegrastats(path, start_us=0, interval_ms=1000)
    assert log.rails == tuple(rails)
    np.testing.assert_array_equal(np.array([log.power_mw[rail] for rail in rails]).T, rows)
    assert log.times_us.tolist() == [1_000_000 * number for number in range(len(rows))]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 12)), min_size=1, max_size=20))
def test_times_stay_in_their_second_and_in_order(runs: list[tuple[int, int]]) -> None:
    seconds = np.repeat(np.cumsum([step for step, _ in runs]), [readings for _, readings in runs])
    times = spread_over_seconds(seconds)
    np.testing.assert_array_equal(times // 1_000_000, seconds)
    assert (np.diff(times) > 0).all()


def test_readings_of_a_second_are_spread_over_it() -> None:
    # Four readings a second; the log begins in the last quarter of a second and ends in the middle of one.
    seconds = np.array([9, 10, 10, 10, 10, 11, 11, 11, 11, 12, 12])
    expected = [9.875, *(10 + np.arange(4) / 4 + 0.125), *(11 + np.arange(4) / 4 + 0.125), 12.125, 12.375]
    assert spread_over_seconds(seconds).tolist() == [round(time * 1e6) for time in expected]
    assert spread_over_seconds(np.array([5, 6, 9])).tolist() == [5_500_000, 6_500_000, 9_500_000]
    assert spread_over_seconds(np.array([5, 5])).tolist() == [5_250_000, 5_750_000]


def test_dates_are_month_day_year(tmp_path: Path) -> None:
    path = tmp_path / "tegrastats.log"
    path.write_text(
        "01-24-2024 09:17:09 RAM 1/2MB VDD_IN 4915mW/4915mW\n01-24-2024 09:17:10 RAM 1/2MB VDD_IN 5mW/5mW\n"
    )
    times = read_tegrastats(path).times_us.astype("datetime64[us]")
    assert times[0] == np.datetime64("2024-01-24T09:17:09.5")
    assert times[1] == np.datetime64("2024-01-24T09:17:10.5")


def test_lines_without_rails_and_readings_without_a_rail_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "tegrastats.log"
    whole = "VDD_GPU_SOC 1mW/1mW VDD_CPU_CV 2mW/2mW VIN_SYS_5V0 3mW/3mW"
    path.write_text(
        f"01-24-2024 09:17:09 RAM 1/2MB {whole}\n01-24-2024 09:17:10 RAM 1/2MB\n\n"
        f"01-24-2024 09:17:11 RAM 1/2MB {whole}\n01-24-2024 09:17:12 RAM 1/2MB {whole[:-12]}"
    )
    with pytest.warns(EdgewattWarning, match="1 of 4 lines tell the power of no rail .* line 2"):
        log = read_tegrastats(path)
    assert len(log.times_us) == 3
    with pytest.warns(EdgewattWarning, match="1 of 3 readings lack .* reading 3"):
        power = to_power_log(log, total_rule(log.rails, (), path).rails, path)
    assert power.power_uw.tolist() == [6000.0, 6000.0]
    assert to_power_log(log, ["VDD_GPU_SOC"], path).power_uw.tolist() == [1000.0] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("RAM 385/3984MB (lfb 779x4MB) CPU [0%@102] AO@31C\n", "no line tells the power of a rail.*sudo"),
        (
            "01-24-2024 09:17:09 RAM 1/2MB VDD_IN 5mW/5mW\nRAM 1/2MB VDD_IN 5mW/5mW\n",
            "line 2: the line has no time, others have one",
        ),
        ("24-01-2024 09:17:09 RAM 1/2MB VDD_IN 5mW/5mW\n", "line 1: not a time: MM-DD-YYYY"),
        ("20241121-05:20:04.261448,5000.0,1096.0\n", "not a log of tegrastats. It looks like a power log"),
        ("time,uptime,Power VDD_IN\n", "It looks like a CSV log of jtop: convert it"),
        ('{"Layers": ["a"]}', "It looks like an engine inspector's JSON"),
        ("hello\n", "not a log of tegrastats. Write one"),
    ],
)
def test_broken_files_and_look_alikes(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tegrastats.log"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as error:
        read_tegrastats(path)
    assert str(path) in str(error.value)


def test_times_must_be_known_once(tmp_path: Path) -> None:
    path = tmp_path / "tegrastats.log"
    path.write_text("RAM 1/2MB VDD_IN 5/5\n")
    with pytest.raises(EdgewattError, match=r"the lines have no time.*--start .* --interval"):
        read_tegrastats(path, start_us=5)
    path.write_text("01-24-2024 09:17:09 RAM 1/2MB VDD_IN 5mW/5mW\n")
    with pytest.raises(EdgewattError, match=re.escape("has times of its own. Leave --start and --interval out")):
        read_tegrastats(path, start_us=5, interval_ms=5)
