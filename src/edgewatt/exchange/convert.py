"""Reading what other tools wrote, and writing it as a power log, as layer latencies or as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from edgewatt.errors import EdgewattError
from edgewatt.formats.file_kind import CONVERTIBLE, recognise
from edgewatt.formats.jtop_log import read_jtop_log
from edgewatt.formats.layer_latency import write_layer_latencies
from edgewatt.formats.onnxruntime_profile import LayerRuns, layer_runs
from edgewatt.formats.onnxruntime_profile import read_profile as read_onnxruntime_profile
from edgewatt.formats.power_log import write_power_log
from edgewatt.formats.rail_log import RailLog, to_power_log, total_rule
from edgewatt.formats.table_file import table_format, write_table
from edgewatt.formats.tegrastats import read_tegrastats
from edgewatt.formats.timestamps import EXAMPLE, parse_timestamps
from edgewatt.formats.trtexec_profile import read_profile as read_trtexec_profile
from edgewatt.formats.trtexec_times import read_inference_times

_TABLE, _POWER_LOG, _LATENCIES = "table", "power-log", "latencies"
#: What each format can be turned into; the first is the default where the name ends in none of a table's.
TARGETS = {
    "tegrastats": (_POWER_LOG, _TABLE),
    "jtop": (_POWER_LOG, _TABLE),
    "trtexec-profile": (_TABLE,),
    "trtexec-times": (_TABLE,),
    "onnxruntime": (_TABLE, _LATENCIES),
}


@dataclass(frozen=True)
class Options:
    """What a format cannot tell of itself.

    Attributes:
        rails: Rails whose sum is the board's input; by the board's rule if empty. Power logs alone.
        start: Time of the first reading of a log without times, or of the start of profiling, as
            `20241121-05:20:04.261448`.
        interval_ms: Time between readings of a log without times, in ms.
        skip: Inferences to leave out at the beginning.
    """

    rails: Sequence[str] = ()
    start: str | None = None
    interval_ms: float | None = None
    skip: int = 0

    @property
    def start_us(self) -> int | None:
        """The start in microseconds since 1970.

        Raises:
            EdgewattError: It is not a timestamp.
        """
        if self.start is None:
            return None
        time = parse_timestamps(pl.Series([self.start]))[0]
        if time is None:
            raise EdgewattError(f"{self.start!r} is not a time", fix=f"Write it as {EXAMPLE}")
        return int(time)


@dataclass(frozen=True)
class Converted:
    """What was written.

    Attributes:
        path: The file.
        file_format: The format that was read, as `--from` calls it.
        target: What was written: `table`, `power-log` or `latencies`.
        rows: Readings, layers or inferences in it.
        notes: What a reader should know.
    """

    path: Path
    file_format: str
    target: str
    rows: int
    notes: tuple[str, ...] = ()


#: Options that a format has, beside those that are left at their default.
_OPTIONS = {
    "tegrastats": {"rails", "start", "interval_ms"},
    "jtop": {"rails"},
    "trtexec-profile": set[str](),
    "trtexec-times": {"skip"},
    "onnxruntime": {"start", "skip"},
}


def convert(
    source: Path,
    out: Path,
    *,
    file_format: str | None = None,
    target: str | None = None,
    options: Options | None = None,
) -> Converted:
    """Convert a file of another tool, whole or not at all.

    Args:
        source: The file.
        out: The file to write.
        file_format: One of `TARGETS`; by the file's content if None.
        target: One of the format's targets; by the name of `out` if None.
        options: What the format cannot tell of itself.

    Raises:
        EdgewattError: The format is not known or cannot be turned into this, an option does not go with it, or a file
            is missing or broken, or cannot be written.
    """
    given = options or Options()
    chosen = _chosen_format(source, file_format)
    target = _chosen_target(chosen, out, target)
    _check_options(chosen, target, given, source)
    if chosen in ("tegrastats", "jtop"):
        return _convert_rails(chosen, source, out, target, given)
    if chosen == "onnxruntime":
        runs = layer_runs(read_onnxruntime_profile(source, may_be_cut=True), source, skip=given.skip)
        return _convert_runs(runs, out, target, given)
    table = _profile_table(source) if chosen == "trtexec-profile" else _times_table(source, given.skip)
    write_table(out, table)
    return Converted(out, chosen, target, table.height)


def _chosen_format(source: Path, named: str | None) -> str:
    if named is not None:
        if named not in TARGETS:
            raise EdgewattError(f"there is no format {named!r}", fix=f"There are: {', '.join(TARGETS)}")
        return named
    if not source.is_file():
        raise EdgewattError("there is no such file", where=source)
    kind = recognise(source)
    found = next((name for name, convertible in CONVERTIBLE.items() if convertible is kind), None)
    if found is None:
        what = "the file's format is not recognised" if kind is None else f"it looks like {kind.value}"
        raise EdgewattError(what, where=source, fix=f"Converted are, named by --from: {', '.join(TARGETS)}")
    return found


def _chosen_target(file_format: str, out: Path, named: str | None) -> str:
    targets = TARGETS[file_format]
    if named is None:
        named = _TABLE if out.suffix.lower() in (".csv", ".json", ".parquet") else targets[0]
    if named not in targets:
        raise EdgewattError(f"{file_format} cannot become {named!r}", fix=f"It can become: {', '.join(targets)}")
    if named == _TABLE:
        table_format(out)
    return named


def _check_options(file_format: str, target: str, given: Options, source: Path) -> None:
    spelled = {"rails": given.rails, "start": given.start, "interval_ms": given.interval_ms, "skip": given.skip}
    foreign = next((name for name, value in spelled.items() if value and name not in _OPTIONS[file_format]), None)
    if foreign is not None:
        option = "--" + foreign.removesuffix("_ms")
        raise EdgewattError(f"{option} does not go with {file_format}", where=source, fix=f"Leave {option} out")
    if given.rails and target == _TABLE:
        raise EdgewattError("a table has every rail", where=source, fix="Leave --rails out")
    if file_format == "onnxruntime" and given.start and target == _TABLE:
        raise EdgewattError("a table has no times", where=source, fix="Leave --start out")


def _convert_rails(file_format: str, source: Path, out: Path, target: str, given: Options) -> Converted:
    log = _read_rails(file_format, source, given)
    if target == _TABLE:
        write_table(out, log.frame())
        return Converted(out, file_format, target, len(log.times_us))
    # jtop's own total is none of the board's rails.
    rails = [rail for rail in log.rails if rail != "TOT"] if not given.rails else log.rails
    rule = total_rule(rails, given.rails, source)
    power = to_power_log(log, rule.rails, source)
    write_power_log(out, power)
    note = f"The board's input is {' + '.join(rule.rails)}: {rule.reason}"
    return Converted(out, file_format, target, len(power), (note,))


def _read_rails(file_format: str, source: Path, given: Options) -> RailLog:
    if file_format == "jtop":
        return read_jtop_log(source)
    return read_tegrastats(source, start_us=given.start_us, interval_ms=given.interval_ms)


def _convert_runs(runs: LayerRuns, out: Path, target: str, given: Options) -> Converted:
    inferences = len(runs.start_us)
    if target == _LATENCIES:
        write_layer_latencies(out, runs.latencies(given.start_us))
        note = (
            () if given.start else ("Without --start the latencies have no times, so no power can be found for them",)
        )
        return Converted(out, "onnxruntime", target, len(runs.names), note)
    duration_ms = runs.duration_us / 1e3
    total_ms = duration_ms.sum(axis=0)
    table = pl.DataFrame(
        {
            "layer_name": runs.names,
            "operation": runs.operations,
            "provider": runs.providers,
            "runtime_ms": duration_ms.mean(axis=0),
            "median_ms": np.median(duration_ms, axis=0),
            "total_ms": total_ms,
            "share": total_ms / max(float(total_ms.sum()), np.finfo(float).tiny),
            "cycles": np.full(len(runs.names), inferences),
        }
    )
    write_table(out, table)
    return Converted(out, "onnxruntime", target, table.height)


def _profile_table(source: Path) -> pl.DataFrame:
    profile = read_trtexec_profile(source)
    median = profile.median_ms
    return pl.DataFrame(
        {
            "layer_name": profile.names,
            "runtime_ms": profile.mean_ms,
            "median_ms": pl.Series([None] * len(profile.names) if median is None else median, dtype=pl.Float64),
            "total_ms": profile.total_ms,
            "share": profile.share,
            "cycles": np.full(len(profile.names), profile.cycles),
        }
    )


def _times_table(source: Path, skip: int) -> pl.DataFrame:
    table = read_inference_times(source).table
    if table.height <= skip:
        raise EdgewattError(
            f"the file holds {table.height} inferences and {skip} are to be left out", where=source, fix="Skip fewer"
        )
    return table.slice(skip)
