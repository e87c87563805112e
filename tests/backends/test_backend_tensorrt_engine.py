from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_tensorrt import LAYERS, Context, runtime_module
from test_backend_cuda import FakeDriver

from edgewatt.backends.base import LoadSettings
from edgewatt.backends.cuda import CudaDevice
from edgewatt.backends.network import find_network
from edgewatt.backends.tensorrt import TensorRTBackend, TensorRTNetwork
from edgewatt.backends.tensorrt_engine import TensorRTEngine
from edgewatt.errors import EdgewattError, EdgewattWarning, NoDeviceError


def _engine(shape: tuple[int, ...] | None = None, **options: Any) -> TensorRTEngine:
    plan = json.dumps(options).encode()
    return TensorRTEngine(runtime_module(), plan, CudaDevice(FakeDriver()), "net.engine", shape)


def test_cycles_end_before_their_layers_are_reported() -> None:
    engine = _engine()
    start, end, reports = engine.run_profiled()
    assert engine.profiled == ("conv", "fc")
    assert [(name, ms) for name, ms, _ in reports] == [("conv", 0.5), ("fc", 1.5)]
    assert start < end <= reports[0][2] <= reports[1][2]
    assert list(engine.layers) == LAYERS


def test_where_reports_cannot_be_asked_for_the_enqueue_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Context, "report_to_profiler")
    monkeypatch.setattr(
        Context,
        "execute_async_v3",
        lambda self, _stream: (
            self.profiler is None or [self.profiler.report_layer_time(layer["Name"], 2.0) for layer in LAYERS] != []
        ),
    )
    start, end, reports = _engine().run_profiled()
    assert [(name, ms) for name, ms, _ in reports] == [("conv", 2.0), ("fc", 2.0)]
    assert start <= reports[0][2] <= end


def test_a_pass_without_the_profiler_has_a_context_of_its_own() -> None:
    engine = _engine()
    before = engine._profiled.runs  # what the public interface does not show
    start, end = engine.run_plain()
    assert start <= end
    assert engine._plain.profiler is None
    assert (engine._plain.runs, engine._profiled.runs) == (1, before)
    assert engine._plain.addresses == engine._profiled.addresses


def test_inputs_are_filled_with_random_numbers_of_their_type() -> None:
    driver = FakeDriver()
    engine = TensorRTEngine(runtime_module(), b"{}", CudaDevice(driver), "net.engine")
    values = np.frombuffer(driver.memory[engine._plain.addresses["input"]][: 2 * 3 * 8 * 8], np.float16)
    assert np.isfinite(values).all()
    assert 0.8 < values.std() < 1.2


@pytest.mark.parametrize(("asked", "expected"), [(None, (2, 3, 16, 16)), ((4, 3, 32, 32), (4, 3, 32, 32))])
def test_an_open_shape_is_the_tuned_one_or_the_one_asked_for(
    asked: tuple[int, ...] | None, expected: tuple[int, ...]
) -> None:
    engine = _engine(asked, dynamic=True)
    assert engine.inputs == {"input": expected}
    assert engine._profiled.shapes["output"] == (expected[0], 10)


def test_shapes_that_an_engine_does_not_have_are_refused() -> None:
    with pytest.raises(EdgewattError, match=r"does not work on an input 'input' of \[4, 3, 640, 32\]"):
        _engine((4, 3, 640, 32), dynamic=True)
    with pytest.raises(EdgewattError, match=r"built for an input 'input' of \[1, 3, 8, 8\], not \[2, 3, 8, 8\]"):
        _engine((2, 3, 8, 8))


def test_an_engine_of_another_version_is_told_of() -> None:
    with pytest.raises(EdgewattError, match=r"cannot load the engine.*the version and the kind of GPU"):
        TensorRTEngine(runtime_module(), b"other", CudaDevice(FakeDriver()), "net.engine")


def test_an_inference_that_fails_is_an_error() -> None:
    with pytest.raises(EdgewattError, match="could not run the network"):
        _engine(failing=True)


def test_a_network_runs_and_leaves_out_cycles_with_other_layers() -> None:
    engine, device = _engine(), CudaDevice(FakeDriver())
    network = TensorRTNetwork(runtime_module(), engine, device, "float16")
    network.warm_up(3)
    assert len(network.run_plain(5, lambda: False)) == 5
    parts = list(network.run(250, lambda: False))
    assert [len(part) for part in parts] == [100, 100, 50]
    assert parts[0].latency_ms[7].tolist() == [0.5, 1.5]
    engine._engine.reported = ["conv", "surprise"]
    with pytest.warns(EdgewattWarning, match="20 cycles are left out"):
        assert [len(part) for part in network.run(20, lambda: False)] == [0]
    facts = network.facts
    assert (facts.versions, facts.input_shape) == ({"tensorrt": "10.3.0", "cuda_driver": "12.6"}, (1, 3, 8, 8))
    assert facts.settings == {"device": "Orin", "auxiliary_streams": 0}
    assert not facts.true_layer_ends


def test_auxiliary_streams_are_warned_of() -> None:
    with pytest.warns(EdgewattWarning, match="uses 2 further streams"):
        TensorRTNetwork(runtime_module(), _engine(streams=2), CudaDevice(FakeDriver()), "float16")


def test_a_stop_ends_a_run_after_the_cycle_it_is_at() -> None:
    network = TensorRTNetwork(runtime_module(), _engine(), CudaDevice(FakeDriver()), "float16")
    asked = iter([False] * 4)
    assert [len(part) for part in network.run(250, lambda: next(asked, True))] == [3]


def test_an_engine_file_is_loaded_and_a_description_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgewatt.backends.tensorrt.import_tensorrt", lambda _: runtime_module())
    monkeypatch.setattr("edgewatt.backends.cuda.load_driver", FakeDriver)
    (tmp_path / "net.engine").write_bytes(b"{}")
    (tmp_path / "net.json").write_text("{}")
    backend = TensorRTBackend()
    assert backend.problem() is None
    assert backend.load(find_network(tmp_path / "net.engine"), LoadSettings()).facts.profiled == ("conv", "fc")
    with pytest.raises(EdgewattError, match="an engine's description cannot be run"):
        backend.load(find_network(tmp_path / "net.json"), LoadSettings())


def test_without_cuda_no_runtime_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trt = runtime_module()
    trt.Runtime = None  # making one would fail; without CUDA the real one crashes the process
    monkeypatch.setattr("edgewatt.backends.tensorrt.import_tensorrt", lambda _: trt)
    monkeypatch.setattr("edgewatt.backends.cuda.load_driver", lambda: FakeDriver(devices=0))
    (tmp_path / "net.engine").write_bytes(b"{}")
    assert TensorRTBackend().problem() is not None
    with pytest.raises(NoDeviceError, match="finds no device"):
        TensorRTBackend().load(find_network(tmp_path / "net.engine"), LoadSettings())
