from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from onnx import ModelProto, checker, shape_inference

from edgewatt.isolation.cut import CannotCut
from edgewatt.isolation.described_layer import layer_model
from edgewatt.isolation.hollow import filled
from edgewatt.isolation.single_layer import (
    convolution_model,
    dense_model,
    pooling_model,
    transposed_convolution_model,
)
from edgewatt.networks.architectures import network_layers
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.networks.onnx_layers import layers_from_onnx


def _bare(layer: Layer) -> Layer:
    return replace(layer, name="", fused=(), copies=0, copied_bytes=0, backend_type="")


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "squeezenet1_1", "regnet_y_400mf", "googlenet"])
def test_described_layers_come_back(name: str) -> None:
    """Convolutions, poolings and dense layers of networks, built from their descriptions alone, are the same layers."""
    built = 0
    for layer in network_layers(name):
        if layer.kind is LayerKind.OTHER or " || " in layer.name:
            continue
        (found,) = layers_from_onnx(layer_model(layer))
        assert _bare(found) == _bare(layer), layer.name
        built += 1
    assert built >= 20


def _outputs(model: ModelProto) -> list[int]:
    inferred = shape_inference.infer_shapes(filled(model), strict_mode=True, check_type=True)
    return [dim.dim_value for dim in inferred.graph.output[0].type.tensor_type.shape.dim]


def test_a_dilated_grouped_convolution_with_a_residual() -> None:
    # 17 rows padded to 21 under a window of 3 spread to 5: 17 positions, every second of them: 9.
    model = convolution_model(
        (2, 8, 17, 17),
        12,
        (3, 3),
        stride=(2, 2),
        pre_padding=(2, 2),
        post_padding=(2, 2),
        dilation=(2, 2),
        groups=4,
        residual=True,
        activation="Clip",
    )
    checker.check_model(filled(model), full_check=True)
    assert _outputs(model) == [2, 12, 9, 9]
    (layer,) = layers_from_onnx(model)
    assert (layer.groups, layer.dilation, layer.macs) == (4, (2, 2), 2 * 12 * 9 * 9 * 2 * 9)
    assert layer.input_bytes == 2 * (2 * 8 * 17 * 17 + 2 * 12 * 9 * 9)


def test_a_transposed_convolution_gets_the_padding_that_its_output_needs() -> None:
    # (7 - 1) x 2 - 2 + 3 = 13, so one more for 14.
    model = transposed_convolution_model(
        (1, 4, 7, 7), (1, 6, 14, 14), (3, 3), stride=(2, 2), pre_padding=(1, 1), post_padding=(1, 1)
    )
    assert _outputs(model) == [1, 6, 14, 14]
    (layer,) = layers_from_onnx(model)
    assert (layer.operation, layer.macs) == ("transposed", 4 * 7 * 7 * 6 * 9)
    with pytest.raises(CannotCut, match="does not give"):
        transposed_convolution_model((1, 4, 7, 7), (1, 6, 20, 20), (3, 3), stride=(2, 2))


def test_poolings_round_as_asked_and_global_ones_are_global() -> None:
    assert _outputs(pooling_model((1, 4, 14, 14), "max", (3, 3), stride=(2, 2))) == [1, 4, 6, 6]
    assert _outputs(pooling_model((1, 4, 14, 14), "max", (3, 3), stride=(2, 2), round_up=True)) == [1, 4, 7, 7]
    model = pooling_model((1, 4, 7, 5), "average", (7, 5))
    assert [node.op_type for node in model.graph.node] == ["GlobalAveragePool"]


def test_dense_layers_of_any_rank() -> None:
    assert _outputs(dense_model((3, 20), 10, activation="Relu")) == [3, 10]
    model = dense_model((1, 49, 20), 10)
    assert _outputs(model) == [1, 49, 10]
    (layer,) = layers_from_onnx(model)
    assert (layer.kind, layer.macs) == (LayerKind.DENSE, 49 * 20 * 10)


def test_a_product_of_two_activations_has_two_inputs() -> None:
    layer = Layer("attention", LayerKind.DENSE, "gemm", (4, 16, 8), (4, 16, 16), macs=4 * 16 * 16 * 8)
    (found,) = layers_from_onnx(layer_model(layer))
    assert (found.macs, found.parameters, found.input_bytes) == (4 * 16 * 16 * 8, 0, 2 * (4 * 16 * 8 + 4 * 8 * 16))


@pytest.mark.parametrize(
    ("layer", "why"),
    [
        (Layer("r", LayerKind.OTHER, "reformat", (1, 3, 8, 8), (1, 3, 8, 8)), "memory format"),
        (Layer("k", LayerKind.OTHER, "kgen", (1, 3), (1, 3)), "'kgen'"),
        (Layer("c", LayerKind.CONVOLUTIONAL, "convolution", (1, 3, 8, 8), (1, 4, 8, 8)), "window"),
        (
            Layer("c", LayerKind.CONVOLUTIONAL, "convolution", (1, 3, 8, 8), (1, 4, 9, 9), kernel=(3, 3)),
            r"\[1, 4, 6, 6\]",
        ),
        (Layer("p", LayerKind.POOLING, "max", (1, 3, 2, 2), (1, 3, 1, 1), kernel=(5, 5)), "does not fit"),
        (Layer("d", LayerKind.DENSE, "gemm", (1, 3), (1, 4)), "shapes"),
    ],
)
def test_what_cannot_be_built_says_why(layer: Layer, why: str) -> None:
    with pytest.raises(CannotCut, match=why):
        layer_model(layer)


def test_groups_must_divide_the_channels() -> None:
    with pytest.raises(CannotCut, match="3 groups"):
        convolution_model((1, 8, 4, 4), 12, (1, 1), groups=3)


def test_built_layers_run() -> None:
    import onnxruntime

    softmax = Layer("s", LayerKind.OTHER, "softmax", (2, 10), (2, 10))
    added = Layer(
        "add_relu", LayerKind.OTHER, "pointwise", (1, 4, 3, 3), (1, 4, 3, 3), input_bytes=2 * 144, fused=("Relu",)
    )
    for layer in (softmax, added):
        session = onnxruntime.InferenceSession(layer_model(layer).SerializeToString())
        feed = {value.name: np.ones(value.shape, np.float32) for value in session.get_inputs()}
        assert session.run(None, feed)[0].shape == layer.output_shape
    assert len(feed) == 2, "the addition reads two tensors"
