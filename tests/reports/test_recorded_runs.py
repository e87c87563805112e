from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from edgewatt.backends.registry import BACKENDS
from edgewatt.recording.power_summary import PowerSummary
from edgewatt.recording.recorded_run import RecordedRun
from edgewatt.reports.recordings import runs_table

_POWER = PowerSummary(24.5, 0.5, 5000, 4000, 120.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_neither_network_nor_backend_is_cut_on_a_narrow_terminal(backend: str) -> None:
    run = RecordedRun(
        name="mobilenet_v3_small",
        folder=Path("raw/mobilenet_v3_small"),
        backend=backend,
        cycles=30000,
        layers=149,
        cycle_s=0.02832,
        plain_cycle_s=0.02279,
        sum_of_layers_s=0.028045,
        power=_POWER,
        verdict=(),
        interrupted=None,
        stopped_by=None,
    )
    console = Console(width=80)
    with console.capture() as capture:
        console.print(runs_table([run]))
    words = capture.get().split()
    assert backend in words
    # 24.5 W over 0.02832 s are 0.69384 J.
    assert words[-8:] == ["mobilenet_v3_small", "30,000", "149", "28.320", "22.790", "28.045", "24.50", "693.84"]
