from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from edgewatt.errors import EdgewattError, EdgewattWarning, FormatError
from edgewatt.formats.rail_log import RailLog, to_power_log, total_rule

_PATH = Path("some.log")
_LOG = RailLog(np.array([10, 30, 20]), {"A": np.array([1.5, 2.0, np.nan]), "B": np.array([-1.0, 3.0, 4.0])})


def test_named_rails_are_added_up() -> None:
    assert total_rule(["A", "B"], ["B", "A", "B"], _PATH).rails == ("B", "A")
    with pytest.raises(EdgewattError, match=r"some\.log: there is no rail C\. There are: A, B"):
        total_rule(["A", "B"], ["C"], _PATH)


def test_an_input_rail_of_an_unknown_board_is_taken_with_a_warning() -> None:
    with pytest.warns(EdgewattWarning, match="no known board has just these rails; VDD_IN is taken"):
        assert total_rule(["VDD_IN", "VDD_NEW"], (), _PATH).rails == ("VDD_IN",)
    with pytest.raises(EdgewattError, match="which rails are the board's input is not known for A, B"):
        total_rule(["A", "B"], (), _PATH)


def test_two_inputs_side_by_side_are_one_boards_or_must_be_named() -> None:
    rails = ["VDD_IN", "VDD_SYS_GPU", "VDD_MUX"]
    assert total_rule(rails, (), _PATH).rails == ("VDD_IN", "VDD_MUX")
    with pytest.raises(EdgewattError, match="is not known"):
        total_rule([*rails, "VDD_NEW"], (), _PATH)


def test_readings_are_put_in_the_order_of_their_times() -> None:
    with pytest.warns(EdgewattWarning, match="the clock jumps back at reading 3"):
        log = to_power_log(_LOG, ["B"], _PATH)
    assert log.times_us.tolist() == [10, 20, 30]
    assert log.power_uw.tolist() == [-1000.0, 4000.0, 3000.0]


def test_a_reading_without_a_rail_is_left_out() -> None:
    with pytest.warns(EdgewattWarning, match="1 of 3 readings lack A or B"):
        assert to_power_log(_LOG, ["A", "B"], _PATH).power_uw.tolist() == [500.0, 5000.0]
    empty = RailLog(np.array([1]), {"A": np.array([np.nan])})
    with pytest.raises(FormatError, match="no reading has A"):
        to_power_log(empty, ["A"], _PATH)


def test_the_table_has_times_and_every_rail() -> None:
    frame = _LOG.frame()
    assert frame.schema == {"time": pl.Datetime("us"), "A_mw": pl.Float64, "B_mw": pl.Float64}
    assert frame["A_mw"].to_list() == [1.5, 2.0, None]
