from __future__ import annotations

import pickle
import time
from pathlib import Path

import numpy as np
import pytest

from edgewatt.backends.base import LoadSettings
from edgewatt.backends.network import find_network
from edgewatt.backends.simulated import SimulatedBackend
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.engine import layers_from_engine
from edgewatt.simulation.board import ORIN_NANO
from edgewatt.simulation.roofline import layer_truth


def test_layers_take_at_least_the_boards_time_and_come_in_its_order() -> None:
    backend = SimulatedBackend(slowdown=20)
    with backend.load(find_network("lenet"), LoadSettings()) as network:
        (cycles,) = network.run(5, lambda: False)
        facts = network.facts
    runtime_s, _ = layer_truth(network_layers("lenet"), ORIN_NANO)
    assert facts.profiled == tuple(layer.name for layer in network_layers("lenet"))
    assert [layer.macs for layer in layers_from_engine(facts.layers, "test")] == [  # type: ignore[arg-type]
        layer.macs for layer in network_layers("lenet")
    ]
    least_ms = runtime_s * 20e3
    assert (cycles.latency_ms >= least_ms[None, :] - 1e-3).all()
    # Other processes may hold it up, but not every time.
    assert (cycles.latency_ms.min(axis=0) < least_ms + 5).all()
    assert (np.diff(cycles.layer_end_ns, axis=1) >= 0).all()
    last_end = cycles.start_ns + (cycles.latency_ms.sum(axis=1) * 1e6).astype(np.int64)
    assert (cycles.layer_end_ns[:, 0] >= last_end - 1000).all(), "layers are reported after the inference"


def test_its_sensor_shows_what_it_draws_also_in_another_process(tmp_path: Path) -> None:
    backend = SimulatedBackend(slowdown=2000)
    sensor = backend.own_sensor(tmp_path)
    assert sensor is not None
    reader = pickle.loads(pickle.dumps(sensor))
    with reader:
        voltage_mv, current_ma = reader.read_total()
        assert voltage_mv * current_ma / 1e6 == pytest.approx(ORIN_NANO.idle_power_w, abs=0.03)
        copy: SimulatedBackend = pickle.loads(pickle.dumps(backend))
        network = copy.load(find_network("lenet"), LoadSettings())
        run = network.run(1, lambda: False)
        next(run)
        time.sleep(0.01)  # a conversion of the sensor
        voltage_mv, current_ma = reader.read_total()
        assert voltage_mv * current_ma / 1e6 > ORIN_NANO.idle_power_w + 0.3, "the power between inferences"
        network.close()
        time.sleep(0.01)
        voltage_mv, current_ma = reader.read_total()
        assert voltage_mv * current_ma / 1e6 == pytest.approx(ORIN_NANO.idle_power_w, abs=0.03)


def test_a_stop_ends_it_after_a_whole_cycle() -> None:
    network = SimulatedBackend().load(find_network("lenet"), LoadSettings())
    asked = iter([False] * 4)
    (cycles,) = network.run(1000, lambda: next(asked, True))
    assert len(cycles) == 3


def test_without_its_sensor_it_runs_all_the_same() -> None:
    network = SimulatedBackend().load(find_network("lenet"), LoadSettings(input_shape=(4, 1, 32, 32)))
    network.warm_up(2)
    assert network.facts.input_shape == (4, 1, 32, 32)
    plain = network.run_plain(3, lambda: False)
    assert (plain.end_ns > plain.start_ns).all()
    network.close()
