"""Which board this is, which sensors it has, and which of their rails are its input."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewatt.errors import EdgewattError, NoDeviceError
from edgewatt.sensors import hwmon, ina3221, nvml, rapl, simulated
from edgewatt.sensors.base import CombinedSensor, PowerSensor, Rail
from edgewatt.sensors.boards import Board, identify_board, tell_by_rails
from edgewatt.sensors.files import SensorFile
from edgewatt.sensors.sysfs import find_chips

#: Asks for no sensor at all.
NONE = "none"
_NVIDIA_DRIVER = "proc/driver/nvidia"
_WITHOUT = "--sensor none records runtimes alone"


@dataclass(frozen=True)
class Total:
    """The board's input.

    Attributes:
        rails: The rails whose sum it is, in order.
        reason: Why it is these.
    """

    rails: tuple[Rail, ...]
    reason: str


@dataclass(frozen=True)
class Discovery:
    """What was found.

    Attributes:
        board: The board.
        sensors: Its sensors.
        total: Its input, or None where that is not known.
        no_total: Why it is not known, and what to do; None where it is.
        notes: What else the user should know, such as sensors that are there but cannot be read.
    """

    board: Board
    sensors: tuple[PowerSensor, ...]
    total: Total | None
    no_total: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def rails(self) -> tuple[Rail, ...]:
        """The rails of all sensors."""
        return tuple(rail for sensor in self.sensors for rail in sensor.rails)

    def sensor_of(self, rails: Sequence[Rail]) -> PowerSensor:
        """One sensor, not opened yet, that reads these rails in this order.

        Raises:
            EdgewattError: One of them is no rail of this board, or there is none.
        """
        groups: list[tuple[PowerSensor, list[Rail]]] = []
        for rail in rails:
            owner = next((sensor for sensor in self.sensors if rail in sensor.rails), None)
            if owner is None:
                raise EdgewattError(f"{self.board.name} has no rail {rail.full_name}", fix=_rails_line(self.rails))
            if groups and groups[-1][0] is owner:
                groups[-1][1].append(rail)
            else:
                groups.append((owner, [rail]))
        if not groups:
            raise EdgewattError("no rails were asked for", fix=_rails_line(self.rails))
        parts = [owner.select(own_rails) for owner, own_rails in groups]
        return parts[0] if len(parts) == 1 else CombinedSensor(parts)

    def total_sensor(self) -> PowerSensor:
        """The sensor, not opened yet, whose `read_total` is the board's input.

        Raises:
            NoDeviceError: The board's input is not known.
        """
        if self.total is None:
            raise NoDeviceError(self.no_total or "no sensor was asked for", fix=_WITHOUT)
        return self.sensor_of(self.total.rails)


def discover(root: Path = Path("/"), sensor: str | None = None) -> Discovery:
    """Find the board's sensors and its input.

    Args:
        root: Folder that /sys and /proc are read below.
        sensor: What to use instead of what the board's table says: a rail's label or full name, a sum of them
            (`A+B`), the name of a chip or source (`ina3221`, `rapl`, `nvml`, `simulated`), or `none`.

    Raises:
        NoDeviceError: There is no sensor, or not the one asked for.
        EdgewattError: There is no such rail, or its label is that of several.
    """
    board = identify_board(root)
    if sensor == NONE:
        return Discovery(board, (), None, "no sensor was asked for")
    if sensor == simulated.CHIP:
        made_up = simulated.find_simulated()
        reason = "the simulated sensor was asked for; nothing is measured"
        return Discovery(board, (made_up,), Total(made_up.rails, reason))
    notes: list[str] = []
    sensors = [*_chip_sensors(root), *_rapl(root, notes)]
    # A board whose input is in the table needs no NVML, which knows no root either.
    if sensor == nvml.CHIP or (root == Path("/") and board.family is None):
        gpus, reason = nvml.find_nvml()
        if gpus is not None:
            sensors.append(gpus)
        elif sensor == nvml.CHIP or not sensors or (root / _NVIDIA_DRIVER).exists():
            notes.append(f"no NVML sensor: {reason}")
    if not sensors:
        raise _no_sensor(board, notes)
    if board.family is None and not board.has_device_tree:
        told = tell_by_rails([rail.label for found in sensors for rail in found.rails])
        if told is not None:
            board = told
            notes.append("the device tree is not visible, as in containers: the board was told by its rails")
    notes.extend(_shunt_notes(board, sensors))
    everything = Discovery(board, tuple(sensors), None, notes=tuple(notes))
    return _with_total(everything) if sensor is None else _as_asked(everything, sensor)


def _chip_sensors(root: Path) -> Iterator[PowerSensor]:
    for chip in find_chips(root):
        found: PowerSensor | None = None
        if chip.name == ina3221.HWMON_DRIVER:
            found = ina3221.Ina3221(chip)
        elif chip.name == ina3221.IIO_DRIVER:
            found = ina3221.Ina3221Iio(chip)
        elif hwmon.measures_power(chip):
            found = hwmon.HwmonSensor(chip)
        if found is not None and found.rails:
            yield found


def _rapl(root: Path, notes: list[str]) -> Iterator[PowerSensor]:
    found = rapl.RaplSensor(root)
    readable = [channel.rail for channel in found.channels if _can_read(channel.files)]
    if len(readable) < len(found.rails):
        notes.append(
            f"{len(found.rails) - len(readable)} of RAPL's {len(found.rails)} energy counters cannot be read: run as "
            f"root, or once `sudo chmod a+r {found.path}/intel-rapl:*/energy_uj`"
        )
    if readable:
        yield found.select(readable)


def _can_read(files: Sequence[SensorFile]) -> bool:
    """Whether every file holds a number now."""
    values = [file.read_number() for file in files]
    for file in files:
        file.close()
    return None not in values


def _shunt_notes(board: Board, sensors: Sequence[PowerSensor]) -> Iterator[str]:
    """Rails whose shunt is not these boards': a device tree without one leaves the driver's 10 mOhm."""
    step_a = None if board.family is None else board.family.current_step_a
    for rail in (rail for sensor in sensors for rail in sensor.rails):
        own_a = rail.current_step_a
        if step_a is not None and own_a is not None and not math.isclose(own_a, step_a, rel_tol=0.01):
            yield (
                f"{rail.label}: the driver's shunt gives steps of {own_a * 1e3:g} mA where these boards have "
                f"{step_a * 1e3:g} mA: true currents would be {step_a / own_a:.3g} times "
                f"those shown. Compare shunt{rail.channel}_resistor with the board's"
            )


def _with_total(found: Discovery) -> Discovery:
    """The discovery with the board's input, where that is known."""
    # A label of two rails names neither of them.
    counts = Counter(rail.label for rail in found.rails)
    by_label = {rail.label: rail for rail in found.rails if counts[rail.label] == 1}
    rule = found.board.find_total(list(by_label))
    if rule is not None:
        return _settle(found, Total(tuple(by_label[label] for label in rule.rails), rule.reason))
    total = _source_total(found) if found.board.family is None else None
    if total is not None:
        return _settle(found, total)
    what = "is a board that edgewatt does not know" if found.board.family is None else "does not show its input's rails"
    example = "+".join(rail.label for rail in found.rails[:2])
    return Discovery(
        found.board,
        found.sensors,
        None,
        f"{found.board.name} {what}, and adding up its rails could count power twice. {_rails_line(found.rails)}. "
        f"Name the one that feeds the others, or those that do together: --sensor RAIL[+RAIL], for instance "
        f"--sensor {_shell_word(example)}",
        found.notes,
    )


def _source_total(found: Discovery) -> Total | None:
    """What the processor and the GPUs draw, on a machine whose input is not measured."""
    rails: list[Rail] = []
    reasons: list[str] = []
    for sensor in found.sensors:
        if isinstance(sensor, rapl.RaplSensor) and sensor.counted_rails:
            rails.extend(sensor.counted_rails)
            reasons.append("RAPL's packages and memory")
        elif isinstance(sensor, nvml.NvmlSensor):
            rails.extend(sensor.rails)
            reasons.append("the GPUs that NVML reads")
    if not rails:
        return None
    return Total(tuple(rails), f"{' and '.join(reasons)}: the machine's own input is not measured")


def _as_asked(found: Discovery, asked: str) -> Discovery:
    """The discovery with the rails or the sensor that the user asked for."""
    chosen = tuple(s for s in found.sensors if asked in (s.name, s.chip, s.name.partition("@")[0]))
    if not chosen:
        if asked in (ina3221.CHIP, rapl.CHIP, nvml.CHIP):
            raise NoDeviceError(
                f"{found.board.name} has no sensor {asked}" + "".join(f"; {note}" for note in found.notes),
                fix=f"Its sensors are {', '.join(s.name for s in found.sensors)}; {_WITHOUT}",
            )
        rails = tuple(_find_rail(found, label.strip()) for label in asked.split("+"))
        if len(set(rails)) < len(rails):
            raise EdgewattError(f"{asked} names a rail twice", fix=_rails_line(found.rails))
        return _settle(found, Total(rails, "these rails were asked for"))
    only = Discovery(found.board, chosen, None, notes=found.notes)
    if len(only.rails) == 1:
        return _settle(only, Total(only.rails, f"it is the only rail of {asked}, which was asked for"))
    source = _source_total(only)
    return _with_total(only) if source is None else _settle(only, source)


def _settle(found: Discovery, total: Total) -> Discovery:
    return Discovery(found.board, found.sensors, total, None, found.notes)


def _find_rail(found: Discovery, name: str) -> Rail:
    """The rail of a label, a full name, or a sensor's name and channel."""
    for same in (str, str.casefold):
        fits = [rail for rail in found.rails if same(name) in map(same, _names(rail))]
        if len(fits) == 1:
            return fits[0]
        if fits:
            options = ", ".join(f"{rail.sensor}:{rail.channel}" for rail in fits)
            raise EdgewattError(f"{len(fits)} rails are called {name}", fix=f"Use one of {options}")
    raise EdgewattError(f"{found.board.name} has no rail or sensor {name!r}", fix=_rails_line(found.rails))


def _names(rail: Rail) -> tuple[str, ...]:
    return rail.label, rail.full_name, f"{rail.sensor}:{rail.channel}"


def _rails_line(rails: Sequence[Rail]) -> str:
    return f"Its rails are {', '.join(rail.label for rail in rails)}"


def _shell_word(text: str) -> str:
    return f"'{text}'" if " " in text else text


def _no_sensor(board: Board, notes: Sequence[str]) -> NoDeviceError:
    if board.family is not None and not board.family.totals:
        return NoDeviceError(
            f"{board.name} has no power sensor: no {board.family.name} has one",
            fix=f"Measure with an external meter, or go without power: {_WITHOUT}, --sensor simulated tries the flow",
        )
    return NoDeviceError(
        f"no power sensor was found on {board.name}" + "".join(f"; {note}" for note in notes),
        fix=f"In a container, check that it shows /sys. {_WITHOUT}, --sensor simulated tries the flow",
    )
