from __future__ import annotations

import csv
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewatt.errors import EdgewattWarning, FormatError
from edgewatt.formats.jtop_log import read_jtop_log

_HEADER = "time,uptime,CPU1,RAM,Power VDD_IN,Power TOT,nvp model"
_ROW = '2024-11-21 05:20:04.261448,"1 day, 0:10:00",12,0.2,4744,4744,15W'


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.datetimes(datetime(2019, 1, 1), datetime(2030, 1, 1)), st.integers(-400, 99999), st.integers(0, 99999)
        ),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(["VDD_IN", "VDD_CPU_GPU_CV", "odd, name"]),
)
def test_what_the_logger_writes(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[datetime, int, int]], rail: str
) -> None:
    """Rows as `jtop_logger.py` writes them: a DictWriter over the statistics, with times as Python prints them."""
    path = tmp_path_factory.mktemp("log") / "jtop.csv"
    with path.open("w", newline="") as file:
        names = ["time", "uptime", "CPU1", f"Power {rail}", "Power TOT", "jetson_clocks"]
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for time, power, total in rows:
            row = [time, timedelta(days=1, minutes=10), "OFF", power, total, "ON"]
            writer.writerow(dict(zip(names, row, strict=True)))
    log = read_jtop_log(path)
    assert log.rails == (rail, "TOT")
    assert log.power_mw[rail].tolist() == [power for _, power, _ in rows]
    assert log.power_mw["TOT"].tolist() == [total for _, _, total in rows]
    assert log.times_us.astype("datetime64[us]").tolist() == [time for time, _, _ in rows]


def test_a_rail_that_could_not_be_read_is_none(tmp_path: Path) -> None:
    path = tmp_path / "jtop.csv"
    path.write_text(f"{_HEADER}\n{_ROW}\n{_ROW.replace(',4744,', ',,')}\n")
    np.testing.assert_array_equal(read_jtop_log(path).power_mw["VDD_IN"], [4744, np.nan])


def test_a_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "jtop.csv"
    path.write_text(f"{_HEADER}\n{_ROW}\n{_ROW[:-8]}")
    with pytest.warns(EdgewattWarning, match="the last line was cut short"):
        assert read_jtop_log(path).power_mw["VDD_IN"].tolist() == [4744]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        (f"{_HEADER}\n", "no complete reading"),
        ("time,uptime,CPU1\n2024-11-21 05:20:04,0:10,1\n", "the log has no power in it"),
        (f"{_HEADER}\n{_ROW.replace('2024-11-21', '21.11.2024')}\n", "line 2: time is '21.11.2024 05.*', not a time"),
        (
            f"{_HEADER}\n{_ROW}\n{_ROW.replace('4744,15W', 'much,15W')}\n",
            "line 3: Power TOT is 'much', not a power in mW",
        ),
        (f"{_HEADER}\n{_ROW.replace('4744,15W', 'inf,15W')}\n", "line 2: Power TOT is 'inf'"),
        ("20241121-05:20:04.261448,5000.0,1096.0\n", "not a CSV log of jtop. It looks like a power log"),
        ("01-24-2024 09:17:09 RAM 1/2MB VDD_IN 5mW/5mW\n", "It looks like a tegrastats log: convert it"),
    ],
)
def test_broken_files_and_look_alikes(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "jtop.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as error:
        read_jtop_log(path)
    assert str(path) in str(error.value)
