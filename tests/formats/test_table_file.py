from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewatt.errors import EdgewattError
from edgewatt.formats.table_file import write_table

rows = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8),
        st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
        st.integers(-(2**53), 2**53),
        st.one_of(st.none(), st.booleans()),
    ),
    max_size=6,
)
_SCHEMA = {"name": pl.String, "power_w": pl.Float64, "samples": pl.Int64, "identifiable": pl.Boolean}


@settings(deadline=None)
@given(rows)
def test_every_value_comes_back(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[str, float | None, int, bool | None]]
) -> None:
    folder = tmp_path_factory.mktemp("table")
    table = pl.DataFrame(values, schema=_SCHEMA, orient="row")
    for name in ("t.csv", "t.json", "t.parquet"):
        write_table(folder / name, table)
    assert pl.read_parquet(folder / "t.parquet").equals(table)
    assert json.loads((folder / "t.json").read_text()) == table.to_dicts()
    with (folder / "t.csv").open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    assert header == list(_SCHEMA)
    expected = [
        [name, power, float(samples), "" if flag is None else str(flag).lower()]
        for name, power, samples, flag in values
    ]
    assert [[line[0], float(line[1]) if line[1] else None, float(line[2]), line[3]] for line in lines] == expected


def test_categories_are_text_and_numbers_that_are_none_are_null_in_json(tmp_path: Path) -> None:
    table = pl.DataFrame({"a": pl.Series(["x", "y"], dtype=pl.Categorical), "b": [float("nan"), 1.0]})
    write_table(tmp_path / "t.parquet", table)
    assert pl.read_parquet(tmp_path / "t.parquet").schema["a"] == pl.String
    write_table(tmp_path / "t.out", table, "json")
    assert json.loads((tmp_path / "t.out").read_text()) == [{"a": "x", "b": None}, {"a": "y", "b": 1.0}]


@pytest.mark.parametrize(("name", "chosen"), [("t.xlsx", None), ("t", None), ("t.csv", "xml")])
def test_other_formats_are_refused(tmp_path: Path, name: str, chosen: str | None) -> None:
    with pytest.raises(EdgewattError, match=r"End the name in \.csv, \.json, \.parquet"):
        write_table(tmp_path / name, pl.DataFrame({"a": [1]}), chosen)
    assert list(tmp_path.iterdir()) == []
