"""How fast the window method is: base files in, CSV out, against a plain Python loop over rows that does the same.

    python benchmarks/mapping.py [--cycles 30000] [--readings 65000] [--layers 24 --layers 200] [--skip-plain]

Each run is a process of its own, so that its time and peak memory are its own. The plain loop parses with the
standard library, looks windows up by bisection in the sorted log, and writes with csv: what a careful person
writes by hand. It is only run for the first number of layers.
"""

from __future__ import annotations

import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left, bisect_right
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer
from rich.console import Console
from rich.table import Table

from edgewatt.formats.engine_info import EngineInfo, write_engine_info
from edgewatt.formats.idle_power import IdlePower, write_idle_power
from edgewatt.formats.layer_latency import LayerLatencies, write_layer_latencies
from edgewatt.formats.power_log import PowerLog, write_power_log
from edgewatt.formats.recording import RecordingPaths
from edgewatt.mapping.run import map_recordings

START_US = 1_732_166_404_000_000
IDLE_UW = 4_234_560.0
COLUMNS = (
    "cycle",
    "layer_name",
    "layer_type",
    "layer_power_including_idle_power_micro_watt",
    "layer_power_excluding_idle_power_micro_watt",
    "layer_run_time",
)


def write_recording(raw_dir: Path, layers: int, cycles: int, readings: int) -> None:
    """Write a recording of the asked size: layers of up to 0.1 ms, a cycle every 3 ms, a reading every 1.35 ms."""
    random = np.random.default_rng(0)
    paths = RecordingPaths(raw_dir / "net")
    names = tuple(f"/layer{i}/conv/Conv + /layer{i}/relu/Relu" for i in range(layers))
    ends = START_US + 1_000_000 + 3000 * np.arange(cycles)
    latencies = [np.round(random.random(cycles) * 0.1, 9) for _ in names]
    write_layer_latencies(paths.layer_latency, LayerLatencies(names, latencies, [ends + 3 * i for i in range(layers)]))
    entries = tuple({"Name": name, "LayerType": "CaskConvolution"} for name in names)
    write_engine_info(paths.engine_info, EngineInfo(entries))
    times = START_US + np.linspace(0, 3000 * cycles + 2_000_000, readings).astype(np.int64)
    current = (1000 + 8 * random.integers(0, 60, readings)).astype(np.float64)
    write_power_log(paths.power_log, PowerLog(times, np.full(readings, 5000.0), current))
    write_idle_power(raw_dir / "idling_power.json", IdlePower(avg_idle_power=IDLE_UW))


def map_plainly(raw_dir: Path, out: Path) -> None:
    """The window method, row by row."""
    paths = RecordingPaths(raw_dir / "net")
    layout = "%Y%m%d-%H:%M:%S.%f"
    times, powers = [], []
    with paths.power_log.open() as log:
        for line in log:
            stamp, voltage, current = line.strip().split(",")
            times.append(datetime.strptime(stamp, layout))
            powers.append(float(voltage) * float(current))
    latencies = json.loads(paths.layer_latency.read_text())
    types = {layer["Name"]: layer["LayerType"] for layer in json.loads(paths.engine_info.read_text())["Layers"]}
    idle = json.loads((raw_dir / "idling_power.json").read_text())["avg_idle_power"]
    out.mkdir(parents=True)
    with (out / "power_runtime_mapping_layerwise.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for cycle in range(len(next(iter(latencies.values())))):
            for name, entries in latencies.items():
                latency, stamp = entries[cycle]
                end = datetime.strptime(stamp, layout)
                first = bisect_left(times, end - timedelta(milliseconds=latency))
                values = powers[first : bisect_right(times, end)]
                power = sum(values) / len(values) if values else None
                above = None if power is None else power - idle
                writer.writerow((cycle + 1, name, types[name], power, above, latency))


def run(way: str, raw_dir: Path, out: Path) -> tuple[float, float]:
    """Map in a process of its own; seconds (without imports) and peak memory in MB."""
    command = [sys.executable, __file__, "--worker", way, str(raw_dir), str(out)]
    seconds, megabytes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(megabytes)


def worker(way: str, raw_dir: Path, out: Path) -> None:
    """What `run` runs."""
    begin = time.perf_counter()
    if way == "plain":
        map_plainly(raw_dir, out)
    else:
        map_recordings(raw_dir, out, method="window")
    seconds = time.perf_counter() - begin
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)


def same_rows(ours: Path, plain: Path) -> bool:
    """Whether both CSV files hold the same rows (powers to 1e-9)."""
    name = "power_runtime_mapping_layerwise.csv"
    left, right = (pl.read_csv(path, infer_schema_length=None) for path in (ours / "net" / name, plain / name))
    power = COLUMNS[3]
    return bool(
        left.drop(COLUMNS[3:5]).equals(right.drop(COLUMNS[3:5]))
        and left[power].is_null().equals(right[power].is_null())
        and np.allclose(left[power].drop_nulls(), right[power].drop_nulls(), rtol=1e-9)
    )


def main(
    cycles: Annotated[int, typer.Option(help="Cycles.")] = 30_000,
    readings: Annotated[int, typer.Option(help="Readings in the power log.")] = 65_000,
    layers: Annotated[list[int] | None, typer.Option(help="Numbers of layers, repeated.")] = None,
    skip_plain: Annotated[bool, typer.Option("--skip-plain", help="Leave the plain loop out.")] = False,
) -> None:
    """Print a table of times and memory."""
    table = Table("layers", "cycles", "readings", "way", "seconds", "peak MB", "times as fast", "same rows")
    for index, count in enumerate(layers or [24, 50, 100, 200]):
        with tempfile.TemporaryDirectory() as scratch:
            raw, ours, plain = Path(scratch, "raw"), Path(scratch, "ours"), Path(scratch, "plain")
            write_recording(raw, count, cycles, readings)
            seconds, megabytes = run("edgewatt", raw, ours)
            cells = (str(count), f"{cycles:,}", f"{readings:,}")
            ratio = same = ""
            if index == 0 and not skip_plain:
                plain_seconds, plain_megabytes = run("plain", raw, plain)
                ratio, same = f"{plain_seconds / seconds:.1f}", str(same_rows(ours, plain))
                table.add_row(*cells, "plain loop", f"{plain_seconds:.2f}", f"{plain_megabytes:.0f}", "1", "")
            table.add_row(*cells, "edgewatt", f"{seconds:.2f}", f"{megabytes:.0f}", ratio, same)
    Console().print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
    else:
        typer.run(main)
