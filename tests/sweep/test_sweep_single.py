from __future__ import annotations

import pytest

from edgewatt.networks.architectures import network_layers
from edgewatt.networks.layer import LayerKind
from edgewatt.sweep.shipped import architecture_layers
from edgewatt.sweep.single import SingleLayer, single_layer

CONV = SingleLayer("convolution", (1, 64, 56, 56), 128, (3, 3), (2, 2), (1, 1), (1, 1), activation="Relu")


def test_numbers_of_a_convolution() -> None:
    assert CONV.output_shape == (1, 128, 28, 28)
    assert CONV.weights == 128 * 64 * 9
    assert CONV.macs == 28 * 28 * 128 * 64 * 9
    assert CONV.elements == 128 * 64 * 9 + 64 * 56 * 56 + 128 * 28 * 28
    assert CONV.label() == "conv3x3s2-64x56x56-128"


def test_a_layer_is_described_as_a_network_of_it_is() -> None:
    layer = CONV.layer("one", "float16")
    assert (layer.name, layer.kind, layer.macs) == ("one", LayerKind.CONVOLUTIONAL, CONV.macs)
    assert (layer.input_bytes, layer.output_bytes) == (2 * 64 * 56 * 56, 2 * 128 * 28 * 28)
    assert layer.precision == "float16"


@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        (SingleLayer("gemm", (4, 512), 10), LayerKind.DENSE),
        (SingleLayer("convolution", (1, 64, 1, 1), 16), LayerKind.DENSE),
        (SingleLayer("max", (1, 64, 14, 14), 64, (3, 3), (2, 2), round_up=True), LayerKind.POOLING),
        (SingleLayer("average", (2, 64, 7, 7), 64, (7, 7)), LayerKind.POOLING),
        (SingleLayer("convolution", (1, 32, 9, 9), 32, (3, 3), groups=32, residual=False), LayerKind.CONVOLUTIONAL),
    ],
)
def test_the_kind_is_that_of_the_network(layer: SingleLayer, kind: LayerKind) -> None:
    assert layer.kind is kind
    assert layer.layer("one", "float16").kind is kind
    assert layer.output_shape[0] == layer.input_shape[0]


@pytest.mark.parametrize("name", ["squeezenet1_1", "mobilenet_v2", "resnet18", "googlenet"])
def test_layers_of_networks_are_rebuilt_as_they_are(name: str) -> None:
    layers = [layer for layer in network_layers(name) if single_layer(layer) is not None]
    assert len(layers) == len(architecture_layers(name))
    for layer in layers:
        found = single_layer(layer)
        assert found is not None
        again = found.layer(layer.name, layer.precision)
        assert (again.kind, again.macs, again.output_shape) == (layer.kind, layer.macs, layer.output_shape)
        assert (again.weight_bytes, again.output_bytes) == (layer.weight_bytes, layer.output_bytes)
        assert again.input_bytes == layer.input_bytes


def test_residual_additions_are_kept() -> None:
    assert sum(layer.residual for layer in architecture_layers("resnet18")) == 8


def test_layers_that_no_feature_tells_apart_are_alike() -> None:
    plain = SingleLayer("convolution", (1, 8, 9, 9), 8, (3, 3), pre_padding=(0, 0), post_padding=(2, 2))
    other = SingleLayer(
        "convolution", (1, 8, 9, 9), 8, (3, 3), pre_padding=(1, 1), post_padding=(1, 1), activation="Relu"
    )
    assert plain != other
    assert plain.without_details() == other.without_details()
