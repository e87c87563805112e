"""How mapping many recordings scales: with workers, here and on a Dask cluster, and with the number of recordings.

    python benchmarks/cluster.py [--recordings 12] [--cycles 3000] [--network squeezenet1_1] [--ways plain,local2,dask2]
    python benchmarks/cluster.py --growth 5,20,80 [--ways local2]

Copies of one simulated recording are mapped by a plain loop in one process, by local processes, and by Dask workers on
this machine, each worker with one thread. A run is a process of its own; its time is all of it, with the start of local
processes, but not the start of the cluster, which a team leaves running. Memory is the peak of the resident set, of
the process that the user starts and of all its workers together, sampled every 50 ms (shared pages count for each).
Every run's files are compared byte for byte with those of the first.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from edgewatt.formats.idle_power import FILE_NAME as IDLE_FILE
from edgewatt.formats.idle_power import read_idle_power
from edgewatt.formats.made_from import file_digests
from edgewatt.formats.recording import find_recordings
from edgewatt.mapping.run import checked_method, map_recording
from edgewatt.simulation.simulate import simulate

WAYS = {
    "plain": "plain loop, one process",
    "local1": "edgewatt, 1 process",
    "local2": "edgewatt, 2 processes",
    "dask1": "edgewatt, 1 Dask worker",
    "dask2": "edgewatt, 2 Dask workers",
}
PERIOD_S = 0.05


@dataclass(frozen=True)
class Run:
    """One measured run.

    Attributes:
        seconds: Wall time.
        cpu_s: Processor time of the run and its workers; of a Dask worker what it took meanwhile.
        parent_mb: Peak memory of the process that the user starts.
        workers_mb: Peak memory of the workers together.
    """

    seconds: float
    cpu_s: float
    parent_mb: float
    workers_mb: float


def write_recordings(raw_dir: Path, network: str, cycles: int, count: int) -> None:
    """Simulate one recording and copy it."""
    simulate(raw_dir, [network], cycles=cycles)
    first = raw_dir / network
    for number in range(count):
        folder = raw_dir / f"n{number:03}"
        shutil.copytree(first, folder)
        for path in folder.glob(f"{network}_*"):
            path.rename(path.with_name(path.name.replace(network, folder.name, 1)))
    shutil.rmtree(first)


def map_plainly(raw_dir: Path, out: Path, method: str) -> None:
    """One recording after another."""
    idle_uw = read_idle_power(raw_dir / IDLE_FILE).avg_idle_power
    for paths in find_recordings(raw_dir):
        map_recording(paths, out / paths.model, idle_uw, checked_method(method))


def command_of(way: str, raw_dir: Path, out: Path, method: str, scheduler: str | None) -> list[str]:
    """The command line of a way."""
    if way == "plain":
        return [sys.executable, __file__, "--worker", str(raw_dir), str(out), method]
    where = ["--jobs", way[-1]] if scheduler is None else ["--scheduler", scheduler]
    return [sys.executable, "-m", "edgewatt", "map", str(raw_dir), str(out), "--method", method, "--json", *where]


def children(pid: int) -> list[int]:
    """Processes that a process started and that still run."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def resident_mb(pid: int) -> float:
    """Memory of a process that is resident now."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return 0.0


def processor_s(pid: int) -> float:
    """Processor time that a process has taken, with its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def measured(command: Sequence[str], workers: Sequence[int]) -> Run:
    """Run a command, watching it, its children and workers that are not its children."""
    before = sum(map(processor_s, workers))
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    parent_mb = workers_mb = cpu_s = 0.0
    # The warnings of a few hundred recordings fit into a pipe.
    while process.poll() is None:
        others = [*children(process.pid), *workers]
        parent_mb = max(parent_mb, resident_mb(process.pid))
        workers_mb = max(workers_mb, sum(map(resident_mb, others)))
        cpu_s = max(cpu_s, processor_s(process.pid) + sum(map(processor_s, others)))
        time.sleep(PERIOD_S)
    seconds = time.perf_counter() - begin
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}\n{process.stderr.read().decode() if process.stderr else ''}")
    return Run(seconds, cpu_s - before, parent_mb, workers_mb)


@contextmanager
def cluster(workers: int) -> Iterator[tuple[str, list[int]]]:
    """A Dask scheduler and workers on this machine: its address, and the workers' process ids."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "scheduler.json")
        processes: list[subprocess.Popen[bytes]] = []

        def start(program: str, *options: str) -> None:
            command = [sys.executable, "-m", f"distributed.cli.dask_{program}", "--scheduler-file", str(file), *options]
            processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

        try:
            start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
            for _ in range(workers):
                start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", scratch)
            while not file.exists():
                time.sleep(0.1)
            address = json.loads(file.read_text())["address"]
            from distributed import Client

            with Client(address) as client:
                client.wait_for_workers(workers)
            yield address, [process.pid for process in processes[1:]]
        finally:
            for process in processes:
                process.kill()
                process.wait()


def contents(folder: Path) -> dict[str, str]:
    """Digests of the files below a folder."""
    return file_digests(folder, [path for path in folder.rglob("*") if path.is_file()])


def run_way(way: str, raw_dir: Path, out: Path, method: str) -> Run:
    """Map in one way."""
    if not way.startswith("dask"):
        return measured(command_of(way, raw_dir, out, method, None), [])
    with cluster(int(way[-1])) as (address, workers):
        # The workers of a cluster that was used before have their libraries loaded.
        run_once = command_of(way, raw_dir, out.with_name(f"{out.name}-first"), method, address)
        subprocess.run([*run_once, "--networks", "n000,n001"], check=True, capture_output=True)
        return measured(command_of(way, raw_dir, out, method, address), workers)


def main(
    recordings: Annotated[int, typer.Option(help="Recordings, when workers are compared.")] = 12,
    cycles: Annotated[int, typer.Option(help="Cycles of a recording.")] = 3000,
    network: Annotated[str, typer.Option(help="The simulated network.")] = "squeezenet1_1",
    method: Annotated[str, typer.Option(help="The mapping method.")] = "deconvolve",
    ways: Annotated[str, typer.Option(help="Which ways, separated by commas.")] = ",".join(WAYS),
    growth: Annotated[str, typer.Option(help="Numbers of recordings, to see how cost grows.")] = "",
) -> None:
    """Print a table of times, memory and ratios."""
    counts = [int(count) for count in growth.split(",")] if growth else [recordings]
    columns = (
        "recordings",
        "way",
        "seconds",
        "s each",
        "CPU s",
        "times the first",
        "parent MB",
        "workers MB",
        "same files",
    )
    table = Table(*columns, title=f"n recordings of {network}, {cycles:,} cycles each, {method}")
    with tempfile.TemporaryDirectory() as scratch:
        for count in counts:
            raw = Path(scratch, f"raw{count}")
            write_recordings(raw, network, cycles, count)
            first: Run | None = None
            expected: dict[str, str] = {}
            for way in ways.split(","):
                out = Path(scratch, f"{way}-{count}")
                run = run_way(way, raw, out, method)
                found = contents(out)
                first, expected = first or run, expected or found
                table.add_row(
                    str(count),
                    WAYS[way],
                    f"{run.seconds:.2f}",
                    f"{run.seconds / count:.3f}",
                    f"{run.cpu_s:.1f}",
                    f"{first.seconds / run.seconds:.2f}",
                    f"{run.parent_mb:.0f}",
                    f"{run.workers_mb:.0f}",
                    "yes" if found == expected else "NO",
                )
                shutil.rmtree(out)
            shutil.rmtree(raw)
    Console(width=120).print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        map_plainly(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
    else:
        typer.run(main)
