"""Whether a board that should be idle has something to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgewatt.recording.environment import gpu_load
from edgewatt.recording.power_summary import PowerSummary

#: Processors that may be busy on an idle board: a desktop, its services and a remote shell take less.
_MOST_PROCESSORS = 0.5
_MOST_GPU = 0.1
#: Spread of the fresh power values over their mean. Steps of the sensor and the regulators' ripple make up to some
#: per cent; anything that starts and stops makes more.
_MOST_SPREAD = 0.1


@dataclass(frozen=True)
class ProcessorTimes:
    """What the kernel counted for all processors together since it was started, in its own ticks.

    Attributes:
        busy: Time that they worked.
        total: That, and the time that they waited.
        processors: Number of processors.
    """

    busy: int
    total: int
    processors: int


def read_processor_times(root: Path = Path("/")) -> ProcessorTimes | None:
    """Read `/proc/stat`; None where it is missing or has no totals."""
    try:
        lines = (root / "proc/stat").read_text().splitlines()
        fields = next([int(text) for text in line.split()[1:]] for line in lines if line.startswith("cpu "))
    except (OSError, ValueError, StopIteration):
        return None
    if len(fields) < 5:
        return None
    # user, nice, system, idle, iowait, irq, softirq, steal; guests are counted in user already.
    waiting = fields[3] + fields[4]
    total = sum(fields[:8])
    processors = sum(1 for line in lines if line.startswith("cpu") and not line.startswith("cpu "))
    return ProcessorTimes(total - waiting, total, max(processors, 1))


def busy_processors(before: ProcessorTimes | None, after: ProcessorTimes | None) -> float | None:
    """How many processors were busy on average between two readings; None where that is not known."""
    if before is None or after is None or after.total <= before.total:
        return None
    return (after.busy - before.busy) / (after.total - before.total) * after.processors


class Watch:
    """Watches a board's processors and GPU from when it is made.

    Args:
        root: Folder that /sys and /proc are read below.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before = read_processor_times(root)
        self._gpu: list[float] = []
        self.look()

    def look(self) -> None:
        """Take a sample of the GPU's load, which is only told of the last moment."""
        load = gpu_load(self._root)
        if load is not None:
            self._gpu.append(load)

    def doubts(self, own_processors: float = 0.0) -> list[str]:
        """What kept the board busy, in words.

        Args:
            own_processors: How many processors the watching itself kept busy.
        """
        found = []
        busy = busy_processors(self._before, read_processor_times(self._root))
        if busy is not None and busy - own_processors > _MOST_PROCESSORS:
            found.append(f"{busy - own_processors:.1f} processors were busy")
        if self._gpu and sum(self._gpu) / len(self._gpu) > _MOST_GPU:
            found.append(f"the GPU was busy {sum(self._gpu) / len(self._gpu):.0%} of the time")
        return found


def power_doubts(power: PowerSummary) -> list[str]:
    """What its power says against a board being idle, in words."""
    if power.mean_w > 0 and power.spread_w > _MOST_SPREAD * power.mean_w:
        return [f"its power varied by {power.spread_w / power.mean_w:.0%} ({power.spread_w:.2f} W)"]
    return []
