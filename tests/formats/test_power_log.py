from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgewatt.errors import EdgewattWarning, FormatError
from edgewatt.formats.power_log import PowerLog, read_power_log, write_power_log

LINE = "20241121-05:20:04.261448,5000.0,1096.0\n"


def log_of(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "net_power_log.log"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_reads_the_documented_line(tmp_path: Path) -> None:
    log = read_power_log(log_of(tmp_path, LINE + "20241121-05:20:04.262827,5000.0,-8.0\r\n\n"))
    assert np.diff(log.times_us).tolist() == [1379]
    assert log.power_uw.tolist() == [5_480_000.0, -40_000.0]
    assert len(log) == 2


times = st.lists(st.integers(0, 2**51), min_size=1, max_size=30).map(sorted)
number = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3))


@given(st.data())
def test_written_and_read_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    moments = data.draw(times)
    voltage = data.draw(st.lists(st.floats(1000, 2e4), min_size=len(moments), max_size=len(moments)))
    current = data.draw(st.lists(number, min_size=len(moments), max_size=len(moments)))
    log = PowerLog(np.array(moments), np.array(voltage), np.array(current))
    path = tmp_path_factory.mktemp("log") / "log"
    write_power_log(path, log)
    back = read_power_log(path)
    assert back.times_us.tolist() == moments
    assert back.voltage_mv.tolist() == voltage
    assert back.current_ma.tolist() == current


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("20241121-05:20:05.0,5000.0\n", "line 3.*2 fields instead of 3"),
        ("20241121-05:20:05.0,5000.0,1.0,2.0\n", "line 3.*4 fields instead of 3"),
        ("20241121-05:20:05.0,5000.0,nan\n", "line 3.*current is not a number: 'nan'"),
        ("20241121-05:20:05.0,inf,1.0\n", "line 3.*voltage is not a number"),
        ("20241121-05:20:05.0,,1.0\n", "line 3.*voltage is not a number"),
        ("05:20:05.0,5000.0,1.0\n", "line 3.*not a timestamp"),
        ("20241121-05:20:05.0;5000.0;1.0\n", "line 3.*1 fields"),
        ("\x00\x00\x00\x00\n", "line 3.*fields"),
        ("20241121-05:20:05.0,5000.0,1096.0 mA\n", "line 3.*current is not a number"),
        (b"20241121-05:20:05.0,5000.0,\xff\n", "line 3.*current is not a number"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, bad: str | bytes, message: str) -> None:
    bad_bytes = bad.encode() if isinstance(bad, str) else bad
    path = log_of(tmp_path, (LINE * 2).encode() + bad_bytes + LINE.encode())
    with pytest.raises(FormatError, match=message) as error:
        read_power_log(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("content", ["", "\n", "\n\n"])
def test_an_empty_log(tmp_path: Path, content: str) -> None:
    with pytest.raises(FormatError, match=r"empty|no complete reading"):
        read_power_log(log_of(tmp_path, content))


def test_a_missing_log(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="No such file"):
        read_power_log(tmp_path / "none.log")


@pytest.mark.parametrize(
    "cut",
    [
        "2",
        "20241121-05:20:05.1",
        "20241121-05:20:05.1,50",
        "20241121-05:20:05.1,5000.0,",
        "20241121-05:20:05.1,5000.0,10",
        "20241121-05:20:05.1,5000.0,1096.",
    ],
)
def test_a_cut_last_line_is_left_out(tmp_path: Path, cut: str) -> None:
    with pytest.warns(EdgewattWarning, match="cut short"):
        log = read_power_log(log_of(tmp_path, LINE * 3 + cut))
    assert log.current_ma.tolist() == [1096.0] * 3


def test_a_whole_last_line_without_line_end_counts(tmp_path: Path) -> None:
    log = read_power_log(log_of(tmp_path, LINE + "20241121-05:20:05.1,5000.0,8.0"))
    assert log.current_ma.tolist() == [1096.0, 8.0]


def test_whole_numbers_cut_short(tmp_path: Path) -> None:
    line = "20241121-05:20:04.261448,5000,1096\n"
    with pytest.warns(EdgewattWarning, match="cut short"):
        assert len(read_power_log(log_of(tmp_path, line * 2 + line[:-2]))) == 2
    assert len(read_power_log(log_of(tmp_path, line * 2 + line[:-1]))) == 3


def test_a_clock_that_was_set_back_is_told(tmp_path: Path) -> None:
    text = LINE.replace(":04.", ":09.") + LINE + LINE.replace("1096", "8")
    with pytest.warns(EdgewattWarning, match=r"jumps back at line 2 \(1 jumps, the longest 5\.000 s\)"):
        log = read_power_log(log_of(tmp_path, text))
    assert log.current_ma.tolist() == [1096.0, 8.0, 1096.0]
    assert np.all(np.diff(log.times_us) >= 0)


def test_volts_instead_of_millivolts(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="look like volts"):
        read_power_log(log_of(tmp_path, "20241121-05:20:04.261448,5.0,1.096\n"))


def test_zero_power_is_a_value(tmp_path: Path) -> None:
    assert read_power_log(log_of(tmp_path, "20241121-05:20:04.2,0.0,0.0\n")).power_uw.tolist() == [0.0]
