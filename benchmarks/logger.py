"""What the power logger costs: readings a second, its share of a processor, and how much it slows a network beside it.

A network runs on ONNX Runtime in turns, with the logger beside it and without, so that a machine that gets busier
meanwhile counts for both. Where the machine has no power sensor, the logger reads plain files like a sensor's, without
the time that the sensor's bus takes: a sensor that answers at once is the most that the logger can cost.

    python benchmarks/logger.py [--network resnet18] [--cycles 50] [--turns 6] [--sensor S] [--rate 5000]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from edgewatt.backends.base import LoadedNetwork, LoadSettings
from edgewatt.backends.network import find_network
from edgewatt.backends.onnxruntime import OnnxRuntimeBackend
from edgewatt.errors import NoDeviceError
from edgewatt.recording.clock import RecordingClock
from edgewatt.recording.logger import LoggerCounts, PowerLogger
from edgewatt.recording.logger_main import RailLog
from edgewatt.sensors.base import PowerSensor
from edgewatt.sensors.discovery import discover


def main() -> None:
    """Measure and print a table."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        sensor, what = _sensor(options.sensor, Path(folder))
        print(f"{what}, at most {options.rate:g} readings a second")
        network = OnnxRuntimeBackend(options.threads).load(find_network(options.network), LoadSettings())
        network.warm_up(5)
        alone, beside, counts = [], [], []
        for _ in range(options.turns):
            alone.append(_cycle_ms(network, options.cycles))
            log = Path(folder) / "power.log"
            with PowerLogger([RailLog(sensor, log)], RecordingClock.now(), options.rate) as logger:
                beside.append(_cycle_ms(network, options.cycles))
                counts.append(logger.stop())
            log.unlink()
    _print(options.network, network.facts.settings["threads"], alone, beside, counts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="resnet18")
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--sensor", default=None)
    parser.add_argument("--rate", type=float, default=5000.0)
    parser.add_argument("--threads", type=int, default=1, help="threads of the network")
    return parser.parse_args()


def _sensor(asked: str | None, folder: Path) -> tuple[PowerSensor, str]:
    try:
        sensor = discover(Path("/"), asked).total_sensor()
    except NoDeviceError:
        return _file_sensor(folder), "no sensor on this machine: files of an INA3221's layout stand for one"
    return sensor, f"sensor {sensor.name}"


def _file_sensor(folder: Path) -> PowerSensor:
    chip = folder / "sys/bus/i2c/devices/1-0040"
    files = chip / "hwmon/hwmon0"
    files.mkdir(parents=True)
    contents = {"name": "ina3221", "in1_label": "VDD_IN", "in1_input": "5000", "curr1_input": "1096", "in1_enable": "1"}
    for name, content in contents.items():
        (files / name).write_text(f"{content}\n")
    (chip / "name").write_text("ina3221\n")
    return discover(folder, "VDD_IN").total_sensor()


def _cycle_ms(network: LoadedNetwork, cycles: int) -> float:
    """Median time of a cycle without a profiler."""
    run = network.run_plain(cycles, lambda: False)
    return float(statistics.median((run.end_ns - run.start_ns) / 1e6))


def _print(network: str, threads: int, alone: list[float], beside: list[float], counts: list[LoggerCounts]) -> None:
    readings_per_s = sum(sum(c.readings) for c in counts) / sum(c.duration_s for c in counts)
    share = sum(c.cpu_s for c in counts) / sum(c.duration_s for c in counts)
    # Neighbouring turns are compared with each other: what else runs changes from turn to turn.
    slowdowns = [b / a - 1 for a, b in zip(alone, beside, strict=True)]
    print(f"{'readings a second':38} {readings_per_s:10.0f}")
    print(f"{'share of one processor':38} {share:10.1%}")
    print(f"{f'{network}, {threads} threads, alone, ms':38} {statistics.median(alone):10.3f}")
    print(f"{f'{network}, {threads} threads, beside it, ms':38} {statistics.median(beside):10.3f}")
    print(f"{'slowdown, median of turns':38} {statistics.median(slowdowns):10.1%}")
    print(f"{'slowdown, least and most of a turn':38} {min(slowdowns):10.1%} {max(slowdowns):8.1%}")


if __name__ == "__main__":
    began = time.monotonic()
    main()
    print(f"{'took, s':38} {time.monotonic() - began:10.1f}")
