"""What the kernel's driver makes of settings that are written, for trees of plain files.

The arithmetic is that of drivers/hwmon/ina3221.c: what is written to update_interval is halved, divided by channels
and samples, and the closest conversion time taken; what is read leaves samples out since the patch of 2021.
"""

from __future__ import annotations

from pathlib import Path

TIMES_US = (140, 204, 332, 588, 1100, 2116, 4156, 8244)
SAMPLES = (1, 4, 16, 64, 128, 256, 512, 1024)


class FakeDriver:
    """A chip's settings and the files that show them.

    Attributes:
        folder: The chip's folder.
        patched: Whether the driver is from since the patch.
        time_us: Conversion time.
        written: Names and values in the order of writing.
    """

    def __init__(self, folder: Path, *, patched: bool, samples: int, time_us: int) -> None:
        self.folder = folder
        self.patched = patched
        self.samples = samples
        self.time_us = time_us
        self.enabled = {n: (folder / f"in{n}_enable").read_text().strip() == "1" for n in (1, 2, 3)}
        self.written: list[tuple[str, int]] = []
        self._show()

    @property
    def channels(self) -> int:
        return sum(self.enabled.values())

    def write(self, path: Path, value: int) -> None:
        assert path.parent == self.folder
        self.written.append((path.name, value))
        if path.name == "samples":
            self.samples = min(SAMPLES, key=lambda known: abs(known - value))
        elif path.name == "update_interval":
            wanted_us = round(value * 1000 / 2 / (self.channels * self.samples))
            self.time_us = min(TIMES_US, key=lambda known: abs(known - wanted_us))
        else:
            self.enabled[int(path.name[2])] = bool(value)
        self._show()

    def state(self) -> tuple[int, int, tuple[bool, ...]]:
        return self.samples, self.time_us, tuple(self.enabled.values())

    def _show(self) -> None:
        interval_us = self.channels * 2 * self.time_us * (1 if self.patched else self.samples)
        (self.folder / "samples").write_text(f"{self.samples}\n")
        (self.folder / "update_interval").write_text(f"{(interval_us + 500) // 1000}\n")
        for number, enabled in self.enabled.items():
            (self.folder / f"in{number}_enable").write_text(f"{int(enabled)}\n")
