from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper
from small_networks import save, small_network

from edgewatt.backends.base import LoadSettings
from edgewatt.backends.network import find_network
from edgewatt.backends.onnxruntime import OnnxRuntimeBackend, OnnxRuntimeNetwork
from edgewatt.errors import EdgewattError
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.engine import layers_from_engine
from edgewatt.networks.layer import Layer, LayerKind


def _never() -> bool:
    return False


def _load(path: Path | str, threads: int = 1) -> OnnxRuntimeNetwork:
    loaded = OnnxRuntimeBackend(threads).load(find_network(path), LoadSettings())
    assert isinstance(loaded, OnnxRuntimeNetwork)
    return loaded


def _layers(loaded: OnnxRuntimeNetwork) -> dict[str, Layer]:
    return {layer.name: layer for layer in layers_from_engine(loaded.facts.layers, "test")}  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> OnnxRuntimeNetwork:
    return _load(save(small_network(), tmp_path_factory.mktemp("onnx")))


def test_layers_are_the_operations_in_order(small: OnnxRuntimeNetwork) -> None:
    facts = small.facts
    assert facts.profiled == ("/conv1", "/relu1", "/pool1", "/conv2", "/pool2", "/flat", "/y")
    assert [entry["LayerType"] for entry in facts.layers if isinstance(entry, dict)] == [
        "Conv", "Relu", "MaxPool", "Conv", "GlobalAveragePool", "Flatten", "Gemm",
    ]  # fmt: skip
    assert facts.input_shape == (1, 3, 16, 16)
    assert facts.precision == "float32"
    assert facts.true_layer_ends
    assert facts.bindings == ("x", "y")
    assert facts.settings["threads"] == 1


def test_a_convolution_is_described_in_full(small: OnnxRuntimeNetwork) -> None:
    layer = _layers(small)["/conv1"]
    assert (layer.kind, layer.operation, layer.backend_type) == (LayerKind.CONVOLUTIONAL, "convolution", "Conv")
    assert (layer.input_shape, layer.output_shape) == ((1, 3, 16, 16), (1, 8, 16, 16))
    assert (layer.kernel, layer.stride, layer.padding, layer.groups) == ((3, 3), (1, 1), (2, 2), 1)
    assert layer.macs == 8 * 16 * 16 * 3 * 9
    assert layer.parameters == 8 * 3 * 9 + 8
    assert layer.weight_bytes == 4 * (8 * 3 * 9 + 8)
    assert (layer.input_bytes, layer.output_bytes) == (4 * 3 * 16 * 16, 4 * 8 * 16 * 16)


def test_a_depthwise_convolution_has_its_groups_and_stride(small: OnnxRuntimeNetwork) -> None:
    layer = _layers(small)["/conv2"]
    assert (layer.kind, layer.operation, layer.groups) == (LayerKind.CONVOLUTIONAL, "depthwise", 8)
    assert (layer.output_shape, layer.stride, layer.padding) == ((1, 8, 3, 3), (2, 2), (0, 0))
    assert layer.macs == 8 * 3 * 3 * 9
    assert layer.parameters == 8 * 9


def test_poolings_dense_and_other_layers_are_typed(small: OnnxRuntimeNetwork) -> None:
    layers = _layers(small)
    largest, average, dense, relu = (layers[name] for name in ("/pool1", "/pool2", "/y", "/relu1"))
    assert (largest.kind, largest.operation, largest.kernel, largest.stride) == (
        LayerKind.POOLING,
        "max",
        (2, 2),
        (2, 2),
    )
    assert (average.kind, average.operation, average.kernel) == (LayerKind.POOLING, "average", (3, 3))
    assert average.output_shape == (1, 8, 1, 1)
    assert (dense.kind, dense.input_shape, dense.output_shape) == (LayerKind.DENSE, (1, 8), (1, 10))
    assert (dense.macs, dense.parameters) == (80, 90)
    assert (relu.kind, relu.operation, relu.output_shape) == (LayerKind.OTHER, "relu", (1, 8, 16, 16))
    assert relu.parameters == 0


def test_padding_that_the_runtime_folds_into_a_convolution_is_its_own(tmp_path: Path) -> None:
    model = small_network()
    model.graph.initializer.append(numpy_helper.from_array(np.array([0, 0, 1, 2, 0, 0, 1, 0], np.int64), "pads"))
    model.graph.node.insert(3, helper.make_node("Pad", ["pool1", "pads"], ["padded"], name="/pad"))
    model.graph.node[4].input[0] = "padded"
    loaded = _load(save(model, tmp_path))
    layer = _layers(loaded)["/conv2"]
    assert "/pad" not in loaded.facts.profiled
    assert layer.input_shape == (1, 8, 8, 8)
    assert (layer.pre_padding, layer.post_padding) == ((1, 2), (1, 0))


def test_a_folded_normalisation_is_counted_as_a_bias(tmp_path: Path) -> None:
    model = small_network()
    for name in ("scale", "shift", "mean", "variance"):
        model.graph.initializer.append(numpy_helper.from_array(np.full(8, 0.5, np.float32), name))
    model.graph.node.insert(
        4,
        helper.make_node("BatchNormalization", ["conv2", "scale", "shift", "mean", "variance"], ["normal"], name="/bn"),
    )
    model.graph.node[5].input[0] = "normal"
    loaded = _load(save(model, tmp_path))
    assert "/bn" not in loaded.facts.profiled
    assert _layers(loaded)["/conv2"].parameters == 8 * 9 + 8


def _shape(layer: Layer) -> tuple[object, ...]:
    return layer.input_shape, layer.output_shape, layer.kernel, layer.padding, layer.macs


@pytest.mark.parametrize("name", ["lenet", "mobilenet_v3_small"])
def test_weighted_layers_of_an_architecture_are_those_of_its_file(name: str) -> None:
    measured = list(_layers(_load(name)).values())
    expected = network_layers(name, precision="float32")
    for kind in (LayerKind.CONVOLUTIONAL, LayerKind.DENSE, LayerKind.POOLING):
        found = [_shape(layer) for layer in measured if layer.kind is kind]
        wanted = [_shape(layer) for layer in expected if layer.kind is kind]
        assert found == wanted


def test_layers_lie_inside_of_their_cycle_one_behind_the_other(small: OnnxRuntimeNetwork) -> None:
    (cycles,) = small.run(40, _never)
    assert len(cycles) == 40
    assert cycles.latency_ms.shape == cycles.layer_end_ns.shape == (40, 7)
    assert (np.diff(cycles.start_ns) > 0).all()
    begin = cycles.layer_end_ns - (cycles.latency_ms * 1e6).astype(np.int64)
    # The profile counts whole microseconds from its own start, and its clock is matched to ours within some.
    slack = 20_000
    assert (begin >= cycles.start_ns[:, None] - slack).all()
    assert (cycles.layer_end_ns <= cycles.end_ns[:, None] + slack).all()
    assert (begin[:, 1:] >= cycles.layer_end_ns[:, :-1] - 2_000).all()


def test_the_layers_of_a_large_network_add_up_to_its_cycle() -> None:
    loaded = _load("squeezenet1_1", threads=1)
    loaded.warm_up(2)
    (cycles,) = loaded.run(5, _never)
    share = cycles.latency_ms.sum(axis=1) / ((cycles.end_ns - cycles.start_ns) / 1e6)
    assert 0.9 < np.median(share) <= 1.0


def test_long_runs_are_profiled_in_parts(small: OnnxRuntimeNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgewatt.backends.onnxruntime._EVENTS_AT_ONCE", 9 * 12)  # 7 layers and 2 events of a cycle
    parts = list(small.run(25, _never))
    assert [len(part) for part in parts] == [10, 10, 5]
    starts = np.concatenate([part.start_ns for part in parts])
    assert (np.diff(starts) > 0).all()


def test_a_part_ends_in_time_so_that_a_crash_loses_little(
    small: OnnxRuntimeNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgewatt.backends.onnxruntime._PART_S", 0.02)
    parts = list(small.run(2000, _never))
    assert sum(len(part) for part in parts) == 2000
    assert len(parts) > 1
    assert all(part.end_ns[-2] - part.start_ns[0] < 0.02e9 for part in parts if len(part) > 1)


def test_a_stop_ends_a_run_after_a_whole_cycle(small: OnnxRuntimeNetwork) -> None:
    asked = iter([False] * 6)
    (cycles,) = small.run(1000, lambda: next(asked, True))
    assert len(cycles) == 5  # one question was asked before the part
    assert np.isfinite(cycles.latency_ms).all()
    assert list(small.run(1000, lambda: True)) == []


def test_a_pass_without_the_profiler_has_no_layers(small: OnnxRuntimeNetwork) -> None:
    plain = small.run_plain(3, _never)
    assert plain.latency_ms.shape == (3, 0)
    assert (plain.end_ns > plain.start_ns).all()


def test_what_the_runtime_refuses_is_an_error_of_the_file(tmp_path: Path) -> None:
    model = small_network()
    model.graph.node[1].op_type = "Reluu"
    model.graph.node[1].domain = "nobody"
    model.opset_import.append(helper.make_opsetid("nobody", 1))
    path = save(model, tmp_path)
    with pytest.raises(EdgewattError, match="ONNX Runtime cannot load it") as raised:
        _load(path)
    assert raised.value.where == str(path)


def test_an_input_that_does_not_fit_is_an_error_of_the_file(tmp_path: Path) -> None:
    network = find_network(save(small_network(), tmp_path))
    with pytest.raises(EdgewattError, match="ONNX Runtime cannot run it"):
        OnnxRuntimeBackend(1).load(network, LoadSettings(input_shape=(1, 4, 16, 16)))
