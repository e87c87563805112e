"""What tracking adds to the time of `edgewatt train`: without it, into an SQLite database, and to a tracking server.

    python benchmarks/tracking.py [--networks alexnet,...] [--cycles 300] [--repeats 3] [--predictor physics]

Each training is a process of its own, as a user starts it, and the three ways take turns. The database and the server
are there before the first training that counts; how long the very first one takes, which makes the database, is told
apart. The server is a process on this machine and takes its share of the same cores.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

NETWORKS = "lenet,alexnet,resnet18,resnet34,resnet50,vgg11,mobilenet_v2,squeezenet1_0,googlenet,densenet121"

#: Seconds that a server may take to answer for the first time.
_PATIENCE_S = 120


def edgewatt(*arguments: object) -> float:
    """Run a command and return its seconds."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "edgewatt", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """A tracking server, ready to answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{folder / 'server.db'}", "--artifacts-destination", str(folder)]
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", folder / "server.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(process.pid, 9)
            process.wait()


def _wait_for(address: str, log: Path) -> None:
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"the server does not answer:\n{log.read_text()}")


def main(
    networks: Annotated[str, typer.Option(help="Simulated networks to train on.")] = NETWORKS,
    cycles: Annotated[int, typer.Option(help="Cycles of each.")] = 300,
    repeats: Annotated[int, typer.Option(help="Trainings of each way.")] = 3,
    predictor: Annotated[str, typer.Option(help="The predictor to train.")] = "physics",
) -> None:
    """Time trainings and print a table."""
    with tempfile.TemporaryDirectory(prefix="edgewatt-") as name:
        folder = Path(name)
        raw, mapped, training = folder / "raw", folder / "mapped", folder / "training"
        edgewatt("simulate", raw, "--networks", networks, "--cycles", cycles)
        edgewatt("map", raw, mapped, "--method", "window")
        edgewatt("dataset", mapped, training, "--min-samples", 1)
        train = ["train", training, folder / "predictors", "--predictor", predictor]
        with server(folder) as address:
            ways: dict[str, list[str]] = {
                "without": [],
                "SQLite": ["--track", f"sqlite:///{folder / 'mlflow.db'}", "--register", "board"],
                "server": ["--track", address, "--register", "board"],
            }
            first = {way: edgewatt(*train, *options) for way, options in ways.items()}
            seconds: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(repeats):
                for way, options in ways.items():
                    seconds[way].append(edgewatt(*train, *options))
    table = Table(title=f"edgewatt train, {len(networks.split(','))} networks, predictor {predictor}")
    for column in ("tracking", "first (s)", "median (s)", "least (s)", "greatest (s)", "ratio of medians"):
        table.add_column(column, justify="left" if column == "tracking" else "right")
    usual = statistics.median(seconds["without"])
    for way, values in seconds.items():
        middle = statistics.median(values)
        cells = [first[way], middle, min(values), max(values)]
        table.add_row(way, *(f"{value:.2f}" for value in cells), f"{middle / usual:.3f}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
