"""The shipped architectures, and networks by name or file."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import pytest

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.networks.architectures import architecture_names, architecture_path, network_layers
from edgewatt.networks.engine import engine_entry
from edgewatt.networks.layer import LayerKind

# Million parameters and billion multiply-accumulates of torchvision 0.29.1's own model cards (the `num_params` and
# `_ops` of its weights' metadata, rounded to three decimals there).
PUBLISHED = {
    "alexnet": (61_100_840, 0.714),
    "convnext_tiny": (28_589_128, 4.456),
    "convnext_small": (50_223_688, 8.684),
    "convnext_base": (88_591_464, 15.355),
    "densenet121": (7_978_856, 2.834),
    "efficientnet_b0": (5_288_548, 0.386),
    "efficientnet_v2_s": (21_458_488, None),
    "googlenet": (6_624_904, 1.498),
    "inception_v3": (27_161_264 - 3_326_696, 5.713),  # without the auxiliary classifier
    "mnasnet1_0": (4_383_312, 0.314),
    "mobilenet_v2": (3_504_872, 0.301),
    "mobilenet_v3_large": (5_483_032, 0.217),
    "mobilenet_v3_small": (2_542_856, 0.057),
    "regnet_x_1_6gf": (9_190_136, 1.603),
    "regnet_y_400mf": (4_344_144, 0.402),
    "resnet18": (11_689_512, 1.814),
    "resnet34": (21_797_672, 3.664),
    "resnet50": (25_557_032, 4.089),
    "resnet101": (44_549_160, 7.801),
    "resnet152": (60_192_808, 11.514),
    "resnext50_32x4d": (25_028_904, 4.230),
    "resnext101_32x8d": (88_791_336, 16.414),
    "resnext101_64x4d": (83_455_272, 15.460),
    "shufflenet_v2_x1_0": (2_278_604, 0.145),
    "squeezenet1_0": (1_248_424, 0.819),
    "squeezenet1_1": (1_235_496, 0.349),
    "vgg11": (132_863_336, 7.609),
    "vgg13": (133_047_848, 11.308),
    "vgg16": (138_357_544, 15.470),
    "vgg19": (143_667_240, 19.632),
    "wide_resnet50_2": (68_883_240, 11.398),
}


def normalised_channels(name: str) -> int:
    """Channels of all batch normalisations that were folded into convolutions when the architecture was exported.

    Each had a scale and a shift in torchvision, and is one bias now: the difference in parameters. Counted as
    the biases of convolutions that torchvision builds without one.
    """
    graph = onnx.load(str(architecture_path(name))).graph
    dims = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in graph.input}
    dims |= {t.name: list(t.dims) for t in graph.initializer}
    biases = [n.input[2] for n in graph.node if n.op_type == "Conv" and len(n.input) > 2]
    return sum(dims[bias][0] for bias in biases if bias.startswith("onnx::"))


def test_all_architectures_are_there() -> None:
    names = architecture_names()
    assert len(names) == 33
    assert list(names) == sorted(names)
    assert set(names) == {*PUBLISHED, "efficientnet_b3", "lenet"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_totals_are_the_published_ones(name: str) -> None:
    parameters, giga_macs = PUBLISHED[name]
    layers = network_layers(name)
    assert sum(x.parameters for x in layers) == parameters - normalised_channels(name)
    if giga_macs is not None:
        assert sum(x.macs for x in layers) / 1e9 == pytest.approx(giga_macs, abs=6e-4)


def test_lenet_by_hand() -> None:
    layers = network_layers("lenet", precision="float32")
    assert [x.macs for x in layers if x.kind is not LayerKind.POOLING] == [
        6 * 28 * 28 * 25,
        16 * 10 * 10 * 6 * 25,
        400 * 120,
        120 * 84,
        84 * 10,
    ]
    assert sum(x.parameters for x in layers) == 61_706
    assert layers[0].output_bytes == 4 * 6 * 28 * 28


@pytest.mark.parametrize("name", architecture_names())
def test_work_and_bytes_grow_with_the_batch(name: str) -> None:
    single, eight = network_layers(name), network_layers(name, batch=8)
    assert [x.name for x in single] == [x.name for x in eight]
    assert [8 * x.macs for x in single] == [x.macs for x in eight]
    assert [8 * x.input_bytes for x in single] == [x.input_bytes for x in eight]
    assert [8 * x.output_bytes for x in single] == [x.output_bytes for x in eight]
    assert [x.weight_bytes for x in single] == [x.weight_bytes for x in eight]


@pytest.mark.parametrize("name", architecture_names())
def test_layers_hang_together(name: str) -> None:
    layers = network_layers(name)
    assert len({x.name for x in layers}) == len(layers)
    nodes = [node.name for node in onnx.load(str(architecture_path(name))).graph.node]
    operations = [operation for x in layers for operation in x.fused]
    assert len(set(operations)) == len(operations)
    assert set(operations) <= set(nodes)
    for layer in layers:
        windowed = layer.kind in (LayerKind.CONVOLUTIONAL, LayerKind.POOLING)
        assert (layer.kernel is not None) == windowed
        assert min(layer.input_bytes, layer.output_bytes) > 0


def test_merged_convolutions_of_googlenet() -> None:
    """Nine inception blocks, three 1x1 convolutions of each on the same input: 57 convolutions become 39."""
    layers = [x for x in network_layers("googlenet") if x.kind is LayerKind.CONVOLUTIONAL]
    assert len(layers) == 57 - 9 * 2
    merged = [x for x in layers if " || " in x.name]
    assert len(merged) == 9
    assert merged[0].output_shape == (1, 64 + 96 + 16, 28, 28)


def test_unknown_architecture_lists_close_ones() -> None:
    with pytest.raises(EdgewattError, match="mobilenet_v2") as caught:
        architecture_path("MobileNet-v2")
    assert "Did you mean mobilenet_v2" in str(caught.value)
    with pytest.raises(EdgewattError, match="alexnet, convnext_base"):
        network_layers("nothing like it")


def test_a_folder_is_told_from_a_network(tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match=r"a folder is no network.*trt_engine_info\.json"):
        network_layers(tmp_path)


def test_network_from_an_onnx_file() -> None:
    path = architecture_path("alexnet")
    assert network_layers(path, batch=2) == network_layers("alexnet", batch=2)
    assert network_layers(str(path)) == network_layers("alexnet")


@pytest.mark.parametrize("suffix", [".json", ".engine"])
def test_network_from_an_engine(tmp_path: Path, suffix: str) -> None:
    layers = network_layers("squeezenet1_1")
    path = tmp_path / f"squeezenet{suffix}"
    path.write_text(json.dumps({"Layers": [engine_entry(x) for x in layers], "Bindings": []}), encoding="utf-8")
    assert network_layers(path) == layers
    assert network_layers(path, batch=1) == layers
    with pytest.raises(EdgewattError, match="batch of 1, not 4"):
        network_layers(path, batch=4)


@pytest.mark.parametrize("name", ["none.onnx", "none.json"])
def test_missing_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(FormatError, match="no such file"):
        network_layers(tmp_path / name)


def test_onnx_under_another_suffix(tmp_path: Path) -> None:
    path = tmp_path / "network.bin"
    path.write_bytes(architecture_path("lenet").read_bytes())
    assert network_layers(path) == network_layers("lenet")
