"""Cells of terminal tables."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from edgewatt.formats.layer_power import LayerPower
from edgewatt.formats.mapping_info import MappingInfo
from edgewatt.mapping.run import MappedNetwork
from edgewatt.reports.cells import LayerName, ShareBar
from edgewatt.reports.mapped_layers import mapped_layers_table


def test_a_name_that_fits_is_whole() -> None:
    assert LayerName("/conv1/Conv + /relu/Relu").fitted(40) == "/conv1/Conv + /relu/Relu"


def test_a_long_name_keeps_what_tells_it_apart() -> None:
    assert LayerName("/conv1/Conv + /relu/Relu").fitted(14) == "/conv1/Conv…"
    assert LayerName("/layer1/layer1.0/conv2/Conv + x").fitted(12) == "…/conv2/Conv"
    assert LayerName("abc", "~ ").fitted(9) == "~ abc"


def test_control_characters_reach_no_terminal() -> None:
    assert "\x1b" not in LayerName("a\x1b[31mb").fitted(20)


@pytest.mark.parametrize(
    ("share", "plain", "bar"),
    [
        (0.5, False, "████████"),
        (0.25, False, "████    "),
        (0.03125, False, "▌       "),
        (0.0, False, "        "),
        (None, False, "        "),
        (0.25, True, "####    "),
        (0.9, False, "████████"),
    ],
)
def test_bars(share: float | None, plain: bool, bar: str) -> None:
    assert ShareBar(share, 0.5).bar(plain=plain) == bar


def test_a_terminal_without_blocks_gets_number_signs() -> None:
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii", errors="replace"), width=60)
    table = Table("name", "share")
    table.add_row("a", ShareBar(0.5, 0.5))
    console.print(table)
    console.file.flush()
    assert b"########  50.0%" in raw.getvalue()


def mapped(layers: int) -> MappedNetwork:
    """A network whose i-th layer takes i mJ."""
    powers = [
        LayerPower(
            f"/block{i}/conv/Conv + /block{i}/relu/Relu", "Conv", 0.1, 8.0, 4.0, 7.5, 8.5, float(i), 99, i % 2 == 0
        )
        for i in range(1, layers + 1)
    ]
    info = MappingInfo(edgewatt_version="0", model="net", method="deconvolve", cycles=10, layers=layers)
    return MappedNetwork("net", Path("net"), powers, info)


def test_mapped_layers_most_energy_first_at_eighty_columns() -> None:
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(mapped_layers_table(mapped(20)))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line for line in lines if "conv/Conv" in line]
    assert len(rows) == 15
    # Layer 20 takes 20 of 1 + ... + 20 = 210 mJ; odd ones are marked.
    assert rows[0].startswith("/block20")
    assert "9.5%" in rows[0]
    assert rows[1].startswith("* /block19")
    assert any("5 more layers" in line and "7.1%" in line for line in lines)


def test_networks_with_few_layers_have_no_rest() -> None:
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(mapped_layers_table(mapped(2)))
    assert "more layers" not in console.export_text()
