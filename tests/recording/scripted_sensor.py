"""Sensors that can be sent to the logger's process, with readings that are known."""

from __future__ import annotations

import time
from pathlib import Path

from edgewatt.sensors.base import Channel, PowerSensor, Rail, RawReading, SensorSettings


class ScriptedChannel(Channel):
    """Gives 5000 mV and a current that counts its readings; fails where told to.

    Args:
        label: The rail's label.
        read_s: How long a read takes.
        fail: Which readings fail: `never`, `always`, `odd`, or `later` (from the 20th on).
    """

    def __init__(self, label: str, read_s: float = 0.0, fail: str = "never") -> None:
        super().__init__(Rail(label, "scripted", Path("scripted"), "scripted"))
        self.read_s, self.fail, self.count = read_s, fail, 0

    def read_raw(self) -> RawReading:
        if self.read_s:
            time.sleep(self.read_s)
        self.count += 1
        fails = {"never": False, "always": True, "odd": self.count % 2 == 1, "later": self.count >= 20}
        return (None, None, None) if fails[self.fail] else (5000, self.count, None)

    @property
    def errors(self) -> dict[str, dict[str, int]]:
        return {} if self.fail == "never" else {f"{self.rail.label} file": {"EIO": self.count}}


class ScriptedSensor(PowerSensor):
    def __init__(self, *channels: ScriptedChannel) -> None:
        super().__init__("scripted", "scripted", Path("scripted"), channels)

    def settings(self) -> SensorSettings:
        return SensorSettings(driver="scripted")


class SlowlyStartingSensor(ScriptedSensor):
    """One whose logger takes some time to start, as on a slow or busy machine."""

    start_s = 2.0

    def __setstate__(self, state: dict[str, object]) -> None:
        time.sleep(self.start_s)
        self.__dict__.update(state)
