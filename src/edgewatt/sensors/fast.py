"""A faster INA3221: one sample, the shortest conversion, and only the channels of the board's input.

The hwmon driver lets root set all three. They stay as they are until they are set again or the machine restarts, so
what was there before is kept in a file first, and any later process can restore it.

`update_interval` is not simply written back: the driver divides what is written by channels and `samples`, and since a
patch of 2021 leaves `samples` out of what is read (see `period.py`). So the interval is restored with one sample set,
and where it does not read back as it was, as the older driver wants it: with the samples set.

Source: the kernel's drivers/hwmon/ina3221.c.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from edgewatt.errors import EdgewattError, FormatError, NoDeviceError, warn
from edgewatt.formats.checked import first_problem
from edgewatt.formats.json_file import read_json, write_json
from edgewatt.sensors.discovery import Discovery
from edgewatt.sensors.files import read_number
from edgewatt.sensors.held_signals import ending_signals_raise, signals_held
from edgewatt.sensors.ina3221 import HWMON_CHANNELS, Ina3221

SAMPLES, UPDATE_INTERVAL = "samples", "update_interval"
#: The driver takes the closest conversion time that it has, 140 us.
_SHORTEST_MS = 0
_STATE_FILE = "run/edgewatt/sensor_settings.json"
_AS_ROOT = "Run as root, outside of containers that show /sys read-only"


@dataclass(frozen=True)
class Change:
    """One setting that was changed.

    Attributes:
        path: Its file.
        before: What it said.
        after: What it says now; the driver may round what was written.
    """

    path: Path
    before: int
    after: int


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _ChipState(_Model):
    """Settings of one chip.

    Attributes:
        path: Its folder.
        samples: Its samples.
        update_interval: Its update_interval in ms.
        enabled: Whether each channel is converted, by number.
    """

    path: Path
    samples: int
    update_interval: int
    enabled: dict[int, bool]


class _State(_Model):
    schema_version: int = 1
    chips: list[_ChipState]


def state_file(root: Path = Path("/")) -> Path:
    """Where the settings from before are kept: /run, which a restart empties as it resets the chip."""
    return root / _STATE_FILE


def make_fast(found: Discovery, state: Path) -> list[Change]:
    """Set the sensors of the board's input to be fast.

    When they already are, by an earlier call, nothing is changed and what that one kept stays.

    Args:
        found: The board's sensors and its input.
        state: File that the settings are kept in.

    Returns:
        What was changed.

    Raises:
        NoDeviceError: The board's input is not known, or none of its sensors can be set.
        EdgewattError: The settings cannot be written: root is needed.
    """
    if state.exists():
        return []
    wanted = _wanted(found)
    before = [_read_chip(path) for path in wanted]
    _keep(state, before)
    try:
        for path, channels in wanted.items():
            _set_fast(path, channels)
    except BaseException:
        _undo(before)
        state.unlink()
        raise
    return _changes(before, [_read_chip(path) for path in wanted])


def restore(state: Path) -> list[Change]:
    """Set the sensors as they were before `make_fast`, from this process or another.

    Args:
        state: File that the settings are kept in; it is removed.

    Returns:
        What was changed; nothing where there is no such file.

    Raises:
        EdgewattError: A setting cannot be written; the file stays.
        FormatError: The file is damaged.
    """
    if not state.exists():
        return []
    before = []
    for chip in _read_state(state).chips:
        if chip.path.is_dir():
            before.append(chip)
        else:
            warn("the sensor is gone, and its settings with it", where=chip.path)
    fast = [_read_chip(chip.path) for chip in before]
    for chip in before:
        _restore_chip(chip)
    state.unlink()
    return _changes(fast, [_read_chip(chip.path) for chip in before])


@contextmanager
def fast_sensor(found: Discovery, state: Path) -> Iterator[list[Change]]:
    """Make the sensors fast for the time of a block, however it ends: well, with an exception, or by a signal.

    In the main thread SIGTERM and SIGHUP, which would end the process at once, raise SystemExit in the block, unless
    they are handled already. Sensors that were fast before stay fast. Only SIGKILL leaves them fast; `restore` then
    sets them back.

    Args:
        found: The board's sensors and its input.
        state: File that the settings are kept in.

    Yields:
        What was changed.

    Raises:
        EdgewattError: As `make_fast` does.
    """
    if state.exists():
        yield []
        return
    with ending_signals_raise():
        changes: list[Change] = []
        try:
            with signals_held():
                changes = make_fast(found, state)
            yield changes
        finally:
            with signals_held():
                restore(state)


def _wanted(found: Discovery) -> dict[Path, set[int]]:
    """The channels that stay enabled, by the folder of each chip that can be set."""
    if found.total is None:
        raise NoDeviceError(found.no_total or "no sensor was asked for")
    wanted: dict[Path, set[int]] = {}
    for sensor in found.sensors:
        channels = {rail.channel for rail in found.total.rails if rail in sensor.rails}
        if channels and isinstance(sensor, Ina3221):
            wanted[sensor.path] = channels
    if not wanted:
        names = dict.fromkeys(rail.sensor for rail in found.total.rails)
        raise NoDeviceError(
            f"{', '.join(names)} cannot be made faster",
            fix="Only an INA3221 under the hwmon driver (L4T 34 and newer) has settings for it; record as it is",
        )
    return wanted


def _keep(state: Path, chips: Sequence[_ChipState]) -> None:
    """Keep the settings from before: the first thing that is written, so the first that is refused without root."""
    try:
        write_json(state, _State(chips=list(chips)).model_dump(mode="json"))
    except EdgewattError as error:
        raise EdgewattError(f"the sensor's settings {error.what}", where=state, fix=_AS_ROOT) from error


def _set_fast(path: Path, channels: set[int]) -> None:
    _write(path / SAMPLES, 1)
    for number in HWMON_CHANNELS:
        if number not in channels and _enable_file(path, number).exists():
            _write(_enable_file(path, number), 0)
    # Last: what is written is divided by the channels and samples of then.
    _write(path / UPDATE_INTERVAL, _SHORTEST_MS)


def _restore_chip(chip: _ChipState) -> None:
    for number, enabled in chip.enabled.items():
        _write(_enable_file(chip.path, number), int(enabled))
    _write(chip.path / SAMPLES, 1)
    _write(chip.path / UPDATE_INTERVAL, chip.update_interval)
    _write(chip.path / SAMPLES, chip.samples)
    if read_number(chip.path / UPDATE_INTERVAL) != chip.update_interval:
        _write(chip.path / UPDATE_INTERVAL, chip.update_interval)


def _undo(chips: Sequence[_ChipState]) -> None:
    """Set back what may have been changed; what could not be written before cannot be now."""
    for chip in chips:
        with contextlib.suppress(EdgewattError):
            _restore_chip(chip)


def _read_chip(path: Path) -> _ChipState:
    samples, interval = read_number(path / SAMPLES), read_number(path / UPDATE_INTERVAL)
    if samples is None or interval is None:
        raise NoDeviceError(
            f"the driver shows no {SAMPLES if samples is None else UPDATE_INTERVAL}, so its settings could not be "
            "restored",
            where=path,
            fix="Record with the settings as they are",
        )
    enabled = {number: read_number(_enable_file(path, number)) for number in HWMON_CHANNELS}
    return _ChipState(
        path=path,
        samples=int(samples),
        update_interval=int(interval),
        enabled={number: bool(value) for number, value in enabled.items() if value is not None},
    )


def _read_state(path: Path) -> _State:
    try:
        return _State.model_validate(read_json(path))
    except ValidationError as error:
        raise FormatError(
            f"not the settings of sensors: {first_problem(error)}",
            where=path,
            fix="Restart the machine, which resets its sensors, or set samples and update_interval by hand",
        ) from error


def _changes(before: Sequence[_ChipState], after: Sequence[_ChipState]) -> list[Change]:
    changes = []
    for old, new in zip(before, after, strict=True):
        pairs = [(old.path / SAMPLES, old.samples, new.samples)]
        pairs += [(_enable_file(old.path, n), int(old.enabled[n]), int(new.enabled[n])) for n in old.enabled]
        pairs += [(old.path / UPDATE_INTERVAL, old.update_interval, new.update_interval)]
        changes += [Change(*pair) for pair in pairs if pair[1] != pair[2]]
    return changes


def _enable_file(path: Path, number: int) -> Path:
    return path / f"in{number}_enable"


def _write(path: Path, value: int) -> None:
    """Write a setting.

    Raises:
        EdgewattError: It cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, f"{value}\n".encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        forbidden = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
        raise EdgewattError(
            f"cannot be set to {value}: {error.strerror or error}",
            where=path,
            fix=_AS_ROOT if forbidden else None,
        ) from error
