from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from edgewatt.backends.registry import BACKENDS
from edgewatt.recording.recorded_run import RecordedRun
from edgewatt.reports.recordings import runs_table


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backends_name_is_not_cut_on_a_narrow_terminal(backend: str) -> None:
    run = RecordedRun("resnet18", Path("raw/resnet18"), backend, 200, 49, 0.0423, 0.04, 0.0417, None, (), None, None)
    console = Console(width=80)
    with console.capture() as capture:
        console.print(runs_table([run]))
    assert backend in capture.get().split()
