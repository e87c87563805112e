"""What `edgewatt sensors` tells: the sensors, their rails now, which are the board's input, and how fresh they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import sleep
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from edgewatt.errors import printable
from edgewatt.reports.tables import new_table, number
from edgewatt.sensors.base import CombinedSensor, PowerSensor, RailReading
from edgewatt.sensors.boards import Board
from edgewatt.sensors.discovery import Discovery
from edgewatt.sensors.fast import Change
from edgewatt.sensors.freshness import Freshness, RailFreshness, measure_freshness
from edgewatt.sensors.ina3221 import CHIP, Ina3221
from edgewatt.sensors.period import PeriodBySettings, periods_by_settings

#: A counter of energy needs two readings that it moved between.
_COUNTER_WAIT_S = 0.05


def sensors_report(found: Discovery, duration_s: float = 1.0) -> dict[str, Any]:
    """Read every rail once, and the board's input for a while.

    Args:
        found: The board's sensors and its input.
        duration_s: How long freshness is measured: of the input, or of every rail where the input is not known.

    Returns:
        JSON's dictionaries, lists, numbers and texts: `board`, `sensors` with `rails` and `settings`, and `total` (None
        where it is not known, with the reason in `no_total`); beside these `family`, each sensor's `periods`,
        `freshness`, `errors` and `notes`.
    """
    freshness = _measured(found, duration_s)
    readings = {sensor.name: _read(sensor) for sensor in found.sensors}
    return {
        "board": found.board.name,
        "family": None if found.board.family is None else found.board.family.name,
        "sensors": [_sensor_entry(sensor, readings[sensor.name]) for sensor in found.sensors],
        "total": _total_entry(found, [reading for group in readings.values() for reading in group]),
        "no_total": found.no_total,
        "freshness": None if freshness is None else _freshness_entry(freshness, found.board),
        "errors": {path: counts for sensor in found.sensors for path, counts in sensor.errors.items()},
        "notes": list(found.notes),
    }


def sensors_tables(report: Mapping[str, Any]) -> list[RenderableType]:
    """A report of `sensors_report` for the terminal."""
    parts: list[RenderableType] = [Text(f"board: {printable(report['board'])}")]
    if report["sensors"]:
        parts.append(_rails_table(report))
    if report["total"] is not None:
        total = report["total"]
        parts.append(
            Text(f"total: {' + '.join(total['rails'])} = {number(total['power_w'], 3)} W, because {total['reason']}")
        )
    else:
        parts.append(Text(f"total: not known. {report['no_total']}"))
    parts.extend(_settings_line(sensor) for sensor in report["sensors"])
    if report["freshness"] is not None:
        parts.extend(_freshness_parts(report["freshness"]))
    parts.extend(Text(f"error: {printable(path)}: {_counts(counts)}") for path, counts in report["errors"].items())
    parts.extend(Text(f"note: {note}") for note in report["notes"])
    return parts


def change_lines(changes: Sequence[Change]) -> list[Text]:
    """One line for each setting that was changed, or one that says that none was."""
    if not changes:
        return [Text("no setting was changed: the sensor was set so already")]
    return [Text(f"{change.path}: {change.before} → {change.after}") for change in changes]


def changes_json(changes: Sequence[Change]) -> dict[str, Any]:
    """The settings that were changed, for machines."""
    return {"changes": [{"path": str(c.path), "before": c.before, "after": c.after} for c in changes]}


def _measured(found: Discovery, duration_s: float) -> Freshness | None:
    if not found.sensors or duration_s <= 0:
        return None
    with found.total_sensor() if found.total is not None else CombinedSensor(found.sensors) as sensor:
        return measure_freshness(sensor, duration_s)


def _read(sensor: PowerSensor) -> list[RailReading]:
    with sensor:
        readings = sensor.read()
        if any(reading.power_w is None for reading in readings):
            sleep(_COUNTER_WAIT_S)
            readings = sensor.read()
    return readings


def _sensor_entry(sensor: PowerSensor, readings: Sequence[RailReading]) -> dict[str, Any]:
    settings = sensor.settings()
    rails = [
        {"label": r.rail.label, "voltage_v": r.voltage_v, "current_a": r.current_a, "power_w": r.power_w}
        for r in readings
    ]
    periods = periods_by_settings(settings) if isinstance(sensor, Ina3221) else ()
    return {
        "name": sensor.name,
        "chip": sensor.chip,
        "path": str(sensor.path),
        "rails": rails,
        "settings": settings.as_dict(),
        "periods": [_period_entry(period) for period in periods],
    }


def _period_entry(period: PeriodBySettings) -> dict[str, Any]:
    return {
        "driver": period.driver,
        "conversion_time_us": None if period.conversion_time_s is None else round(period.conversion_time_s * 1e6),
        "period_ms": period.period_s * 1e3,
        "time_constant_ms": period.time_constant_s * 1e3,
    }


def _total_entry(found: Discovery, readings: Sequence[RailReading]) -> dict[str, Any] | None:
    if found.total is None:
        return None
    by_rail = {reading.rail: reading.power_w for reading in readings}
    powers_w = [power_w for rail in found.total.rails if (power_w := by_rail[rail]) is not None]
    return {
        "rails": [rail.label for rail in found.total.rails],
        "power_w": sum(powers_w) if len(powers_w) == len(found.total.rails) else None,
        "reason": found.total.reason,
    }


def _freshness_entry(freshness: Freshness, board: Board) -> dict[str, Any]:
    return {
        "duration_s": freshness.duration_s,
        "readings": freshness.readings,
        "read_time_ms": freshness.read_time_s * 1e3,
        "read_time_p99_ms": freshness.read_time_p99_s * 1e3,
        "jitter_ms": freshness.jitter_s * 1e3,
        "rails": [_rail_freshness_entry(rail, board) for rail in freshness.rails],
    }


def _rail_freshness_entry(rail: RailFreshness, board: Board) -> dict[str, Any]:
    by_shunt_a = rail.rail.current_step_a
    if by_shunt_a is None and board.family is not None and rail.rail.chip == CHIP:
        by_shunt_a = board.family.current_step_a
    return {
        "label": rail.rail.label,
        "sensor": rail.rail.sensor,
        "readings": rail.readings,
        "fresh": rail.fresh,
        "fresh_per_s": rail.fresh_per_s,
        "period_ms": None if rail.period_s is None else rail.period_s * 1e3,
        "current_step_a": rail.current_step_a,
        "current_step_by_shunt_a": by_shunt_a,
        "power_step_w": rail.power_step_w,
    }


def _rails_table(report: Mapping[str, Any]) -> Table:
    table = new_table("Rails", ["rail"], ["V", "A", "W"])
    for sensor in report["sensors"]:
        for rail in sensor["rails"]:
            table.add_row(
                Text(printable(f"{sensor['name']}:{rail['label']}")),
                number(rail["voltage_v"], 3),
                number(rail["current_a"], 3),
                number(rail["power_w"], 3),
            )
    return table


def _settings_line(sensor: Mapping[str, Any]) -> Text:
    settings = ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in sensor["settings"].items())
    periods = [
        f"a new value every {number(p['period_ms'])} ms"
        + (f" with a time constant of {number(p['time_constant_ms'], 0)} ms" if p["time_constant_ms"] else "")
        + (f" if the driver is from {p['driver']}" if len(sensor["periods"]) > 1 else "")
        for p in sensor["periods"]
    ]
    by_settings = f"; by these, {', or '.join(periods)}" if periods else ""
    return Text(f"{sensor['name']}: {settings}{by_settings}")


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(entry)}" for name, entry in value.items())
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)


def _freshness_parts(freshness: Mapping[str, Any]) -> list[RenderableType]:
    table = new_table(
        f"Freshness, measured over {number(freshness['duration_s'])} s",
        ["rail"],
        ["readings", "fresh/s", "period ms", "step mA", "by shunt", "step mW"],
    )
    for rail in freshness["rails"]:
        table.add_row(
            Text(printable(rail["label"])),
            f"{rail['readings']:,}",
            number(rail["fresh_per_s"], 1),
            number(rail["period_ms"]),
            number(_thousandths(rail["current_step_a"]), 1),
            number(_thousandths(rail["current_step_by_shunt_a"]), 1),
            number(_thousandths(rail["power_step_w"]), 1),
        )
    line = Text(
        f"a read of {'them all' if len(freshness['rails']) > 1 else 'it'} takes "
        f"{number(freshness['read_time_ms'], 3)} ms (99 % within {number(freshness['read_time_p99_ms'], 3)} ms), "
        f"jitter {number(freshness['jitter_ms'], 3)} ms"
    )
    return [table, line]


def _thousandths(value: float | None) -> float | None:
    return None if value is None else value * 1e3


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} times {name}" for name, count in counts.items())
