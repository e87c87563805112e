"""Layers from the engine inspector: real engines, and each kind and trap by hand."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgewatt.errors import EdgewattWarning, FormatError
from edgewatt.networks.engine import engine_entry, layers_from_engine
from edgewatt.networks.layer import Layer, LayerKind

ENGINES = Path(__file__).parents[2].parent / "shared" / "data" / "engines"
FP16 = "Channel major FP16 format where channel % 8 == 0"


def tensor(shape: list[int], kind: str = FP16, name: str = "t") -> dict[str, Any]:
    return {"Name": name, "Location": "Device", "Dimensions": shape, "Format/Datatype": kind}


def convolution(**changes: Any) -> dict[str, Any]:
    """A 3x3 convolution of 16 to 32 channels over 10x8."""
    return {
        "Name": "conv",
        "LayerType": "CaskConvolution",
        "Inputs": [tensor([2, 16, 10, 8])],
        "Outputs": [tensor([2, 32, 10, 8])],
        "ParameterType": "Convolution",
        "Kernel": [3, 3],
        "PaddingMode": "kEXPLICIT_ROUND_DOWN",
        "PrePadding": [1, 1],
        "PostPadding": [1, 1],
        "Stride": [1, 1],
        "Dilation": [1, 1],
        "OutMaps": 32,
        "Groups": 1,
        "Weights": {"Type": "Half", "Count": 4608},
        "Bias": {"Type": "Half", "Count": 32},
        **changes,
    }


def one(entry: dict[str, Any], *others: dict[str, Any]) -> Layer:
    """The layer of an entry, without any warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", EdgewattWarning)
        return layers_from_engine([entry, *others], "engine.json")[0]


def warned(entry: dict[str, Any]) -> Layer:
    with pytest.warns(EdgewattWarning, match="layer '" + entry["Name"]):
        return layers_from_engine([entry], "engine.json")[0]


# --- real engines ---------------------------------------------------------------------------------------------


def real(path: str) -> list[Layer]:
    file = ENGINES / path
    if not file.exists():
        pytest.skip(f"{file} is not there")
    with warnings.catch_warnings():
        warnings.simplefilter("error", EdgewattWarning)
        return layers_from_engine(json.loads(file.read_text(encoding="utf-8"))["Layers"], path)


# Layers by kind as counted in the files; MACs and parameters are those of the architecture: a fused batch
# normalisation leaves one bias a channel (ResNet18: 11,689,512 - 2 x 4,800 + 4,800; MobileNetV2: 3,504,872 - 17,056).
REAL = {
    "a100_trtexec/mobilenet_int8.graph.json": (52, 1, 1, 19, 300_774_272, 3_487_816),
    "a100_trtexec/resnet18_fp16.graph.json": (20, 2, 1, 13, 32 * 1_814_073_344, 11_684_712),
    "orin_nano/resnet18.engine_info.json": (20, 2, 1, 3, 1_814_073_344, 11_684_712),
    "rtx3060_onnx_trt/alexnet.engine_info.json": (5, 3, 3, 6, 714_188_480, 61_100_840),
    "rtx3060_onnx_trt/resnet18.engine_info.json": (20, 2, 1, 6, 1_814_073_344, 11_684_712),
    "rtx3060_torch_trt/alexnet.engine_info.json": (5, 3, 3, 9, 714_188_480, 61_100_840),
    "rtx3060_torch_trt/resnet18.engine_info.json": (20, 2, 1, 3, 1_814_073_344, 11_684_712),
    "rtx3060_trtexec/alexnet.graph.json": (5, 3, 3, 3, 714_188_480, 61_100_840),
    "rtx3060_trtexec/resnet18.graph.json": (20, 2, 1, 3, 1_814_073_344, 11_684_712),
}


@pytest.mark.parametrize("path", REAL)
def test_real_engine_is_read_whole(path: str) -> None:
    layers = real(path)
    kinds = Counter(layer.kind for layer in layers)
    found = tuple(kinds[kind] for kind in LayerKind)
    assert (*found, sum(x.macs for x in layers), sum(x.parameters for x in layers)) == REAL[path]
    for layer in layers:
        assert (layer.kernel is not None) == (layer.kind in (LayerKind.CONVOLUTIONAL, LayerKind.POOLING))
        assert layers_from_engine([engine_entry(layer)], path) == [layer]


def test_first_layers_of_the_orin_nano() -> None:
    reformat, conv, pool = real("orin_nano/resnet18.engine_info.json")[:3]
    assert (reformat.kind, reformat.operation) == (LayerKind.OTHER, "reformat")
    assert (conv.input_shape, conv.output_shape) == ((1, 3, 224, 224), (1, 64, 112, 112))
    assert (conv.kernel, conv.stride, conv.padding, conv.groups) == ((7, 7), (2, 2), (6, 6), 1)
    assert conv.macs == 64 * 112 * 112 * 3 * 49
    assert (conv.weight_bytes, conv.input_bytes, conv.output_bytes) == (2 * 9472, 2 * 150_528, 2 * 802_816)
    assert conv.precision == "float16"
    assert conv.fused == (
        "[CONVOLUTION]-[aten_ops.convolution.default]-[/conv1/convolution]",
        "[SCALE]-[aten_ops._native_batch_norm_legit_no_training.default]-[/bn1/_native_batch_norm_legit_no_training]",
        "[RELU]-[aten_ops.relu.default]-[/relu/relu]",
    )
    assert (pool.kind, pool.operation, pool.kernel, pool.stride) == (LayerKind.POOLING, "max", (3, 3), (2, 2))


def test_kgen_that_is_a_fully_connected_layer() -> None:
    dense = real("rtx3060_trtexec/resnet18.graph.json")[-1]
    assert (dense.kind, dense.operation, dense.backend_type) == (LayerKind.DENSE, "gemm", "kgen")
    assert (dense.input_shape, dense.output_shape, dense.batch_size) == ((1, 512), (1, 1000), 1)
    assert (dense.macs, dense.parameters) == (512_000, 513_000)
    assert (dense.weight_bytes, dense.input_bytes, dense.output_bytes) == (1_026_000, 1024, 2000)
    assert dense.fused == ("/fc/Gemm",)


def test_gemm_layers_leave_scale_factors_out() -> None:
    dense = [x for x in real("rtx3060_trtexec/alexnet.graph.json") if x.kind is LayerKind.DENSE]
    assert [x.macs for x in dense] == [9216 * 4096, 4096 * 4096, 4096 * 1000]
    assert [x.parameters for x in dense] == [9216 * 4096 + 4096, 4096 * 4096 + 4096, 4096 * 1000 + 1000]
    assert [x.input_bytes for x in dense] == [2 * 9216, 2 * 4096, 2 * 4096]
    assert dense[0].fused == ("/classifier/classifier.1/Gemm", "/classifier/classifier.2/Relu")


def test_int8_engine_has_biases_of_its_own_type() -> None:
    layers = real("a100_trtexec/mobilenet_int8.graph.json")
    depthwise = [x for x in layers if x.operation == "depthwise"]
    assert len(depthwise) == 17
    assert (depthwise[0].precision, depthwise[0].macs) == ("int8", 32 * 112 * 112 * 9)
    assert depthwise[0].weight_bytes == 288 + 4 * 32
    residual = next(x for x in layers if x.name.endswith("Conv_629 + Add_631"))
    assert residual.input_bytes == 576 * 14 * 14 + 2 * 96 * 14 * 14  # int8 input, float16 residual


# --- convolutions ---------------------------------------------------------------------------------------------


def test_convolution() -> None:
    layer = one(convolution())
    assert layer == Layer(
        name="conv",
        kind=LayerKind.CONVOLUTIONAL,
        operation="convolution",
        input_shape=(2, 16, 10, 8),
        output_shape=(2, 32, 10, 8),
        kernel=(3, 3),
        pre_padding=(1, 1),
        post_padding=(1, 1),
        precision="float16",
        macs=2 * 32 * 80 * 16 * 9,
        weight_bytes=9280,
        input_bytes=2 * 2 * 16 * 80,
        output_bytes=2 * 2 * 32 * 80,
        parameters=4640,
        fused=("conv",),
        backend_type="CaskConvolution",
    )


def test_residual_counts_among_the_input_bytes() -> None:
    entry = convolution(Inputs=[tensor([2, 16, 10, 8]), tensor([2, 32, 10, 8])])
    assert one(entry).input_bytes == 2 * 2 * 80 * (16 + 32)


def test_missing_keys_have_their_defaults() -> None:
    entry = convolution(Kernel=[1, 1], Weights={"Type": "Half", "Count": 512})
    for key in ("PaddingMode", "PrePadding", "PostPadding", "Stride", "Dilation", "Groups", "Bias"):
        del entry[key]
    layer = one(entry)
    assert (layer.stride, layer.padding, layer.dilation, layer.groups) == ((1, 1), (0, 0), (1, 1), 1)
    assert (layer.parameters, layer.weight_bytes) == (512, 1024)


@pytest.mark.parametrize("layer_type", ["CaskGemmConvolution", "CaskConvolution", "CublasConvolution"])
def test_one_by_one_convolution_is_dense_only_on_an_extent_of_one(layer_type: str) -> None:
    unpadded = {"Kernel": [1, 1], "PrePadding": [0, 0], "PostPadding": [0, 0], "LayerType": layer_type}
    weights = {"Type": "Half", "Count": 512}
    wide = one(convolution(**unpadded, Weights=weights))
    assert (wide.kind, wide.operation, wide.kernel) == (LayerKind.CONVOLUTIONAL, "convolution", (1, 1))
    shapes = {"Inputs": [tensor([2, 16, 1, 1])], "Outputs": [tensor([2, 32, 1, 1])]}
    point = one(convolution(**unpadded, **shapes, Weights=weights))
    assert (point.kind, point.operation, point.kernel) == (LayerKind.DENSE, "gemm", None)
    assert (point.macs, point.parameters) == (2 * 512, 544)
    grouped = one(convolution(**unpadded, **shapes, Groups=16, Weights={"Type": "Half", "Count": 32}))
    assert (grouped.kind, grouped.operation) == (LayerKind.CONVOLUTIONAL, "depthwise")


def test_depthwise_and_grouped() -> None:
    depthwise = one(
        convolution(LayerType="CudaDepthwiseConvolution", Groups=16, Weights={"Type": "Half", "Count": 288})
    )
    assert (depthwise.operation, depthwise.groups, depthwise.macs) == ("depthwise", 16, 2 * 32 * 80 * 9)
    grouped = one(convolution(Groups=4, Weights={"Type": "Half", "Count": 1152}))
    assert (grouped.operation, grouped.macs) == ("convolution", 2 * 32 * 80 * 4 * 9)
    single = convolution(Inputs=[tensor([2, 1, 10, 8])], Weights={"Type": "Half", "Count": 288})
    assert one(single).operation == "convolution"


@pytest.mark.parametrize(
    ("parameter_type", "layer_type"),
    [("Convolution", "CaskDeconvolutionV2"), ("Deconvolution", "Deconvolution"), ("", "CaskDeconvolutionV2")],
)
def test_transposed_convolution(parameter_type: str, layer_type: str) -> None:
    layer = one(
        convolution(
            ParameterType=parameter_type,
            LayerType=layer_type,
            Kernel=[2, 2],
            Stride=[2, 2],
            PrePadding=[0, 0],
            PostPadding=[0, 0],
            Outputs=[tensor([2, 32, 20, 16])],
            Weights={"Type": "Half", "Count": 2048},
        )
    )
    assert (layer.kind, layer.operation) == (LayerKind.CONVOLUTIONAL, "transposed")
    assert layer.macs == 2 * 16 * 80 * 32 * 4  # every input element times 32 channels times the kernel


def test_convolution_fused_with_pooling_has_prefixed_keys() -> None:
    entry = {f"Conv{key}" if key not in ("Name", "LayerType", "ParameterType", "Inputs", "Outputs") else key: value
             for key, value in convolution().items()}  # fmt: skip
    entry |= {
        "LayerType": "CaskConvActPool",
        "ParameterType": "ConvActPool",
        "Outputs": [tensor([2, 32, 5, 4])],
        "PoolingType": "MAX",
        "PoolingWindowSize": [2, 2],
        "PoolingStride": [2, 2],
    }
    layer = one(entry)
    assert (layer.kind, layer.kernel, layer.stride, layer.padding) == (
        LayerKind.CONVOLUTIONAL, (3, 3), (1, 1), (2, 2)
    )  # fmt: skip
    assert (layer.output_shape, layer.macs) == ((2, 32, 5, 4), 2 * 32 * 80 * 16 * 9)
    assert layer.parameters == 4640


def test_one_dimensional_convolution_gets_a_height_of_one() -> None:
    line = {"Inputs": [tensor([2, 16, 40])], "Outputs": [tensor([2, 32, 20])]}
    weights = {"Weights": {"Type": "Half", "Count": 2560}}
    window = {"Kernel": [5], "Stride": [2], "PrePadding": [2], "PostPadding": [1], "Dilation": [1]}
    flat = {"Kernel": [1, 5], "Stride": [1, 2], "PrePadding": [0, 2], "PostPadding": [0, 1], "Dilation": [1, 1]}
    upright = {key: value[::-1] for key, value in flat.items()}
    for keys in (window, flat, upright):
        layer = one(convolution(**line, **weights, **keys))
        assert (layer.input_shape, layer.output_shape) == ((2, 16, 1, 40), (2, 32, 1, 20))
        assert (layer.kernel, layer.stride) == ((1, 5), (1, 2))
        assert (layer.pre_padding, layer.post_padding) == ((0, 2), (0, 1))
        assert layer.macs == 2 * 32 * 20 * 16 * 5


def test_implicit_batch_is_one() -> None:
    layer = one(convolution(Inputs=[tensor([16, 10, 8])], Outputs=[tensor([32, 10, 8])]))
    assert (layer.input_shape, layer.output_shape) == ((1, 16, 10, 8), (1, 32, 10, 8))
    assert layer.macs == 32 * 80 * 16 * 9


def test_three_dimensional_convolution_keeps_its_shape_and_work() -> None:
    window = {"Kernel": [3, 3, 3], "PrePadding": [1, 1, 1], "PostPadding": [1, 1, 1]}
    layer = one(
        convolution(
            **window,
            Stride=[1, 1, 1],
            Dilation=[1, 1, 1],
            Inputs=[tensor([1, 16, 4, 10, 8])],
            Outputs=[tensor([1, 32, 4, 10, 8])],
            Weights={"Type": "Half", "Count": 16 * 32 * 27},
        )
    )
    assert (layer.kind, layer.kernel, layer.padding) == (LayerKind.CONVOLUTIONAL, None, (0, 0))
    assert layer.output_shape == (1, 32, 4, 10, 8)
    assert layer.macs == 32 * 4 * 80 * 16 * 27
    assert one(engine_entry(layer)) == layer


def test_same_padding_is_worked_out() -> None:
    layer = one(
        convolution(
            PaddingMode="kSAME_UPPER",
            PrePadding=[0, 0],
            PostPadding=[0, 0],
            Stride=[2, 2],
            Outputs=[tensor([2, 32, 5, 4])],
        )
    )
    assert (layer.pre_padding, layer.post_padding) == ((0, 0), (1, 1))


def test_convolutions_that_run_as_one() -> None:
    outputs = [tensor([2, 20, 10, 8]), tensor([2, 12, 10, 8])]
    assert one(convolution(Outputs=outputs)).macs == 2 * 32 * 80 * 16 * 9


@pytest.mark.parametrize(
    "changes",
    [
        {"OutMaps": 64},
        {"Stride": [2, 2]},
        {"Dilation": [2, 2]},
        {"PrePadding": [0, 0]},
        {"Groups": 3},
        {"Weights": {"Type": "Half", "Count": 100}},
    ],
)
def test_contradiction_is_warned_of(changes: dict[str, Any]) -> None:
    assert warned(convolution(**changes)).kind is LayerKind.CONVOLUTIONAL


@pytest.mark.parametrize("changes", [{"Kernel": [3, 3, 3]}, {"Stride": [0, 0]}, {"Kernel": "3x3"}, {"Groups": 0}])
def test_impossible_window_is_an_error(changes: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=r"engine\.json, layer 'conv'"):
        one(convolution(**changes))


# --- pooling --------------------------------------------------------------------------------------------------


def pooling(**changes: Any) -> dict[str, Any]:
    return {
        "Name": "pool",
        "LayerType": "TiledPooling",
        "Inputs": [tensor([1, 8, 9, 9], "Four wide channel vectorized row major Int8 format")],
        "Outputs": [tensor([1, 8, 4, 4], "Four wide channel vectorized row major Int8 format")],
        "ParameterType": "Pooling",
        "PoolingType": "AVERAGE",
        "WindowSize": [3, 3],
        "PaddingMode": "kEXPLICIT_ROUND_DOWN",
        "PrePadding": [0, 0],
        "PostPadding": [0, 0],
        "Stride": [2, 2],
        **changes,
    }


def test_pooling_window() -> None:
    layer = one(pooling())
    assert (layer.kind, layer.operation, layer.kernel) == (LayerKind.POOLING, "average", (3, 3))
    assert (layer.precision, layer.input_bytes, layer.output_bytes, layer.macs) == ("int8", 648, 128, 0)


def test_pooling_window_under_the_name_kernel() -> None:
    entry = pooling(PoolingType="MAX", Kernel=[3, 3])
    del entry["WindowSize"]
    assert (one(entry).operation, one(entry).kernel) == ("max", (3, 3))


def test_pooling_is_known_without_parameter_type() -> None:
    entry = pooling()
    del entry["ParameterType"]
    assert one(entry).kind is LayerKind.POOLING
    assert one(entry | {"LayerType": "Reduce"}).kind is LayerKind.POOLING  # by its keys


def test_reduction_is_other() -> None:
    entry = {"Name": "r", "LayerType": "Reduce", "ParameterType": "Reduce"}
    layer = one(entry | {"Inputs": [tensor([1, 8, 9, 9])], "Outputs": [tensor([1, 8, 1, 1])]})
    assert (layer.kind, layer.operation) == (LayerKind.OTHER, "reduce")


def test_pooling_over_three_dimensions_has_no_pair() -> None:
    layer = one(
        pooling(
            Inputs=[tensor([1, 8, 4, 8, 8])],
            Outputs=[tensor([1, 8, 2, 4, 4])],
            WindowSize=[2, 2, 2],
            Stride=[2, 2, 2],
            PrePadding=[0, 0, 0],
            PostPadding=[0, 0, 0],
        )
    )
    assert (layer.kind, layer.kernel, layer.output_shape) == (LayerKind.POOLING, None, (1, 8, 2, 4, 4))
    assert one(engine_entry(layer)) == layer


def test_pooling_without_window_is_warned_of() -> None:
    entry = pooling()
    del entry["WindowSize"], entry["Stride"], entry["PrePadding"], entry["PostPadding"]
    assert warned(entry).kernel is None


# --- matrix products ------------------------------------------------------------------------------------------


def layer_of(kind: str, inputs: list[dict[str, Any]], output: list[int], **keys: Any) -> dict[str, Any]:
    return {"Name": "fc", "LayerType": kind, "Inputs": inputs, "Outputs": [tensor(output, "Half", "y")], **keys}


def test_gemm_of_the_networks_own_input() -> None:
    """No layer computes the network's input either; it is told apart from the constants all the same."""
    inputs = [
        tensor([4, 64], "Half", "x"),
        tensor([64, 10], "Half", "__mye1_dconst"),
        tensor([1], "Float", "__mye2_alpha"),
        tensor([1, 10], "Half", "b_constantHalf"),
    ]
    layer = one(layer_of("gemm", inputs, [4, 10]))
    assert (layer.kind, layer.input_shape, layer.macs) == (LayerKind.DENSE, (4, 64), 4 * 640)
    assert (layer.parameters, layer.weight_bytes, layer.input_bytes) == (650, 1300, 512)


def test_int8_gemm_lists_only_the_activation() -> None:
    layer = one(layer_of("gemm", [tensor([4, 64], "Int8")], [4, 10]))
    assert (layer.kind, layer.precision, layer.macs) == (LayerKind.DENSE, "int8", 4 * 640)
    assert (layer.parameters, layer.weight_bytes, layer.input_bytes) == (640, 640, 256)


def test_matrix_product_of_two_activations() -> None:
    source = {"Name": "s", "LayerType": "kgen", "Inputs": [], "Outputs": [
        tensor([2, 5, 7], "Half", "a"), tensor([2, 7, 3], "Half", "b")]}  # fmt: skip
    inputs = [tensor([2, 5, 7], "Half", "a"), tensor([2, 7, 3], "Half", "b")]
    product = layer_of("MatrixMultiply", inputs, [2, 5, 3], ParameterType="MatrixMultiply")
    layer = layers_from_engine([source, product], "e")[1]
    assert (layer.kind, layer.macs, layer.parameters) == (LayerKind.DENSE, 2 * 5 * 3 * 7, 0)
    assert layer.input_bytes == 2 * (70 + 42)


def test_fully_connected_of_older_versions() -> None:
    keys = {"ParameterType": "FullyConnected", "Weights": {"Type": "Float", "Count": 640}, "OutMaps": 10}
    layer = one(layer_of("CublasFullyConnected", [tensor([4, 64, 1, 1], "Float")], [4, 10, 1, 1], **keys))
    assert (layer.kind, layer.macs, layer.weight_bytes) == (LayerKind.DENSE, 2560, 2560)


@pytest.mark.parametrize(
    ("metadata", "kind"),
    [
        ("[ONNX Layer: /fc/Gemm]", LayerKind.DENSE),
        ("[ONNX Layer: Gemm_48]", LayerKind.DENSE),
        ("[ONNX Layer: /attn/MatMul_1]\x1f[ONNX Layer: /attn/Add]", LayerKind.DENSE),
        ("[ONNX Layer: /fc/Gemm]\x1e[ONNX Layer: /fc/Gemm]", LayerKind.DENSE),
        ("[ONNX Layer: /a/Gemm]\x1e[ONNX Layer: /b/Gemm]", LayerKind.OTHER),
        ("[ONNX Layer: /Flatten]", LayerKind.OTHER),
        ("[ONNX Layer: /Gemm/Relu]", LayerKind.OTHER),
        ("", LayerKind.OTHER),
    ],
)
@pytest.mark.parametrize("layer_type", ["kgen", "fusion"])
def test_generated_kernel_is_the_one_product_that_it_names(layer_type: str, metadata: str, kind: LayerKind) -> None:
    inputs = [
        tensor([1, 10], "Half", "bias_constantHalf"),
        tensor([64, 10], "Half", "dconst"),
        tensor([64, 1], "Half", "x"),
    ]
    layer = one(layer_of(layer_type, inputs, [1, 10], Metadata=metadata))
    assert layer.kind is kind
    if kind is LayerKind.DENSE:
        assert (layer.input_shape, layer.macs, layer.parameters) == ((1, 64), 640, 650)
    else:
        assert (layer.operation, layer.macs, layer.input_bytes) == (layer_type, 0, 2 * (10 + 640 + 64))


def test_generated_kernel_that_finishes_the_work_of_a_gemm() -> None:
    metadata = "[ONNX Layer: /fc/Gemm]"
    gemm = layer_of("gemm", [tensor([1, 64], "Half", "x")], [1, 10], Metadata=metadata)
    tail = layer_of("kgen", [tensor([1, 10], "Half", "y")], [1, 10], Metadata=metadata) | {"Name": "tail"}
    assert [x.kind for x in layers_from_engine([gemm, tail], "e")] == [LayerKind.DENSE, LayerKind.OTHER]


def test_of_two_generated_kernels_the_one_with_weights_is_the_product() -> None:
    metadata = "[ONNX Layer: /fc/Gemm]"
    prepare = layer_of("kgen", [tensor([1, 64], "Half", "x")], [1, 64], Metadata=metadata)
    prepare["Outputs"][0]["Name"] = "x2"
    inputs = [tensor([1, 64], "Half", "x2"), tensor([64, 10], "Half", "dconst")]
    product = layer_of("kgen", inputs, [1, 10], Metadata=metadata) | {"Name": "product"}
    assert [x.macs for x in layers_from_engine([prepare, product], "e")] == [0, 640]


def test_generated_convolution_takes_its_kernel_from_its_weights() -> None:
    inputs = [tensor([1, 16, 10, 10], "Half", "x"), tensor([32, 4, 3, 3], "Half", "w_dconst")]
    layer = one(layer_of("kgen", inputs, [1, 32, 5, 5], Metadata="[ONNX Layer: /c/Conv_3]"))
    assert (layer.kind, layer.kernel, layer.groups) == (LayerKind.CONVOLUTIONAL, (3, 3), 4)
    assert (layer.stride, layer.padding) == ((2, 2), (1, 1))
    assert (layer.macs, layer.parameters) == (32 * 25 * 4 * 9, 1152)


def test_generated_convolution_without_weights_has_no_kernel() -> None:
    entry = layer_of("kgen", [tensor([1, 16, 10, 10], "Half", "x")], [1, 32, 5, 5])
    layer = warned(entry | {"Metadata": "[ONNX Layer: /c/Conv]"})
    assert (layer.kind, layer.kernel, layer.macs) == (LayerKind.CONVOLUTIONAL, None, 0)


# --- the rest -------------------------------------------------------------------------------------------------


def test_other_layers_are_named_by_their_type() -> None:
    names = {
        ("Reformat", "Reformat"): "reformat",
        ("NoOp", None): "noop",
        ("shape_call", None): "shape_call",
        ("PointWiseV2", "PointWise"): "pointwise",
        ("PluginV2", None): "plugin",
        ("kgen", None): "kgen",
        ("TrainStation1", None): "trainstation1",
    }
    for (layer_type, parameter_type), operation in names.items():
        entry = {"Name": "n", "LayerType": layer_type, "ParameterType": parameter_type, "Inputs": [], "Outputs": []}
        layer = one(entry)
        assert (layer.kind, layer.operation, layer.backend_type) == (LayerKind.OTHER, operation, layer_type)
        assert (layer.input_shape, layer.total_bytes, layer.batch_size) == ((), 0, 1)


@pytest.mark.parametrize(
    ("wording", "size"),
    [
        ("Row major linear FP32", 4), ("Row major linear BF16 format", 2), ("Row major linear FP8 format", 1),
        ("Two wide channel vectorized row major FP16 format", 2), ("Int64", 8), ("Bool", 1), ("Half", 2),
        ("Float", 4), ("BFloat16", 2), ("Row major Int32 format", 4), ("UInt8", 1),
    ],
)  # fmt: skip
def test_element_sizes(wording: str, size: int) -> None:
    entry = layer_of("Shuffle", [tensor([1, 3, 5, 5], wording)], [1, 75])
    assert one(entry).input_bytes == 75 * size  # three channels, whatever the format pads them to


def test_four_bit_elements_share_bytes() -> None:
    assert one(layer_of("Shuffle", [tensor([5], "FP4")], [5])).input_bytes == 3


def test_format_key_of_its_own() -> None:
    entry = layer_of("Shuffle", [{"Name": "x", "Dimensions": [4], "Format": "Row major linear FP32"}], [4])
    assert one(entry).input_bytes == 16


def test_unknown_element_type_is_warned_of() -> None:
    assert warned(layer_of("Shuffle", [tensor([4], "Strange")], [4])).input_bytes == 16


def test_fused_operations() -> None:
    entry = convolution(Name="a/Conv + PWN(b) + c", Metadata="[ONNX Layer: /a [x]/Conv]\x1e[ONNX Layer: /b/Relu]")
    assert one(entry).fused == ("/a [x]/Conv", "/b/Relu")
    assert one(entry | {"Metadata": ""}).fused == ("a/Conv", "PWN(b)", "c")
    assert one(convolution(Name="a + b || c + d")).fused == ("a", "b", "c", "d")


def test_names_only_engine_says_what_to_do() -> None:
    with pytest.raises(FormatError, match="--profilingVerbosity=detailed"):
        layers_from_engine(["conv1", "relu"], "engine.json")


def test_dynamic_shapes_name_the_layer() -> None:
    entry = convolution(Inputs=[tensor([-1, 16, 10, 8], "N/A due to dynamic shapes")])
    with pytest.raises(FormatError, match=r"layer 'conv'.*dynamic"):
        layers_from_engine([entry], "engine.json")


@pytest.mark.parametrize(
    "entry",
    [
        layer_of("gemm", [], [4, 4]),
        layer_of("gemm", [tensor([4, 4])], [0]),
        layer_of("correlation", [tensor([4])], [4]),
        pooling(Inputs=[]),
    ],
)
def test_layers_without_what_they_need_are_an_error(entry: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match="layer '"):
        layers_from_engine([entry], "engine.json")


@pytest.mark.parametrize("layers", [[], [3], [{"LayerType": "NoOp"}], [{"Name": "a", "Inputs": [{"Name": "b"}]}]])
def test_broken_layers_are_an_error(layers: list[Any]) -> None:
    with pytest.raises(FormatError, match=r"engine\.json"):
        layers_from_engine(layers, "engine.json")


def test_later_optimisation_profiles_are_left_out() -> None:
    names = ["a", "a [profile 1]", "b [profile 0]", "a [profile 12]", "c [profile x]"]
    layers = layers_from_engine([convolution(Name=name) for name in names], "e")
    assert [layer.name for layer in layers] == ["a", "b [profile 0]", "c [profile x]"]


def test_repeated_names_are_told_apart() -> None:
    layers = layers_from_engine([convolution(), convolution(), convolution(Name="conv (2)")], "e")
    assert [layer.name for layer in layers] == ["conv", "conv (3)", "conv (2)"]


# --- writing --------------------------------------------------------------------------------------------------

sizes = st.integers(1, 9)
pairs = st.tuples(sizes, sizes)
paddings = st.tuples(st.integers(0, 3), st.integers(0, 3))
precisions = st.sampled_from(["float32", "float16", "bfloat16", "int8", "float8"])
BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1, "float8": 1}
texts = st.text(st.characters(exclude_characters="\x1e\x1f", exclude_categories=("Cs",)), min_size=1)


@st.composite
def common(draw: st.DrawFn, inputs: int, outputs: int, weights: int, channels: int) -> dict[str, Any]:
    precision = draw(precisions)
    size = BYTES[precision]
    bias = channels if weights and draw(st.booleans()) else 0
    bias_size = 4 if size == 1 else size
    return {
        "name": draw(texts),
        "fused": tuple(draw(st.lists(texts.map(lambda text: text.replace("]", ")")), min_size=1, unique=True))),
        "backend_type": draw(st.sampled_from(["", "Conv", "CaskConvolution", "kgen"])),
        "precision": precision,
        "parameters": weights + bias,
        "weight_bytes": weights * size + bias * bias_size,
        "input_bytes": inputs * size + draw(st.sampled_from([0, outputs * size, outputs * 2, 7])),
        "output_bytes": outputs * draw(st.sampled_from([size, 4, 2])),
    }


@st.composite
def windowed_layers(draw: st.DrawFn) -> Layer:
    """Convolutions of every kind and poolings, with every output extent as the window gives it."""
    kind = draw(st.sampled_from(["convolution", "transposed", "max", "average"]))
    batch, groups, inner, outer = (draw(st.integers(1, 4)) for _ in range(4))
    pooled = kind in ("max", "average")
    groups = 1 if pooled else groups
    channels = groups * inner, groups * inner if pooled else groups * outer
    kernel, stride, before, after, steps = (draw(x) for x in (pairs, pairs, paddings, paddings, pairs))
    dilation = draw(pairs) if not pooled else (1, 1)
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    large = [
        max(1, span - a - b) + s * (n - 1) for span, s, a, b, n in zip(spans, stride, before, after, steps, strict=True)
    ]
    small = [(x + a + b - span) // s + 1 for x, a, b, span, s in zip(large, before, after, spans, stride, strict=True)]
    shapes = (batch, channels[0], *large), (batch, channels[1], *small)
    if kind == "transposed":
        shapes = (batch, channels[0], *small), (batch, channels[1], *large)
    area = shapes[0][2] * shapes[0][3], shapes[1][2] * shapes[1][3]
    counts = batch * channels[0] * area[0], batch * channels[1] * area[1]
    weights = 0 if pooled else channels[0] * channels[1] // groups * kernel[0] * kernel[1]
    fields = draw(common(*counts, weights, channels[1]))
    if not pooled and kernel == (1, 1) and groups == 1 and area == (1, 1):
        kind = "transposed"
    if kind == "convolution" and groups == channels[0] > 1:
        kind = "depthwise"
    position = batch * (area[0] if kind == "transposed" else area[1])
    return Layer(
        kind=LayerKind.POOLING if pooled else LayerKind.CONVOLUTIONAL,
        operation=kind,
        input_shape=shapes[0],
        output_shape=shapes[1],
        kernel=kernel,
        stride=stride,
        pre_padding=before,
        post_padding=after,
        dilation=dilation,
        groups=groups,
        macs=position * weights,
        **fields,
    )


@st.composite
def dense_layers(draw: st.DrawFn) -> Layer:
    rows, inner, columns = draw(sizes), draw(sizes), draw(sizes)
    tail = (1, 1) if draw(st.booleans()) else ()
    fields = draw(common(rows * inner, rows * columns, inner * columns, columns))
    return Layer(
        kind=LayerKind.DENSE,
        operation="gemm",
        input_shape=(rows, inner, *tail),
        output_shape=(rows, columns, *tail),
        macs=rows * inner * columns,
        **fields,
    )


@st.composite
def other_layers(draw: st.DrawFn) -> Layer:
    shapes = [tuple(draw(st.lists(sizes, min_size=1, max_size=5))) for _ in range(2)]
    counts = []
    for shape in shapes:
        count = 1
        for size in shape:
            count *= size
        counts.append(count)
    return Layer(
        kind=LayerKind.OTHER,
        operation=draw(st.sampled_from(["reformat", "noop", "pointwise", "scale", "softmax"])),
        input_shape=shapes[0],
        output_shape=shapes[1],
        **draw(common(*counts, draw(st.sampled_from([0, 12])), 0)),
    )


@settings(deadline=None)
@given(st.one_of(windowed_layers(), dense_layers(), other_layers()))
def test_what_is_written_is_read_back(layer: Layer) -> None:
    entry = json.loads(json.dumps(engine_entry(layer)))
    assert one(entry) == layer


def test_entry_has_the_inspectors_keys() -> None:
    layer = one(convolution(LayerType="CaskConvolution", Metadata="[ONNX Layer: /c/Conv]"))
    assert engine_entry(layer) == convolution(
        Inputs=[tensor([2, 16, 10, 8], "Half", "input")],
        Outputs=[tensor([2, 32, 10, 8], "Half", "output")],
        Metadata="[ONNX Layer: /c/Conv]",
    )
