"""Export torchvision's convolutional networks as ONNX files without weights.

Each file is a network's inference graph in opset 17 with a batch of one and shapes on every tensor. A weight keeps its
name, type and shape as a graph input and loses its data; small constants (shapes, axes, padding) stay.

Needs torch, torchvision, onnx and onnxslim. Usage: python tools/export_zoo.py FOLDER [NETWORK ...]
"""

from __future__ import annotations

import sys
import warnings
from collections import OrderedDict
from math import prod
from pathlib import Path
from typing import Any

import onnx
import onnxslim
import torch
import torchvision
from onnx import TensorProto, helper, shape_inference
from torch import nn

_NAMES = """
    lenet alexnet vgg11 vgg13 vgg16 vgg19 resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d
    resnext101_32x8d resnext101_64x4d wide_resnet50_2 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large mnasnet1_0
    squeezenet1_0 squeezenet1_1 googlenet inception_v3 densenet121 efficientnet_b0 efficientnet_b3 efficientnet_v2_s
    shufflenet_v2_x1_0 regnet_y_400mf regnet_x_1_6gf convnext_tiny convnext_small convnext_base
"""
NETWORKS = _NAMES.split()
STRUCTURE_BELOW = 65  # elements: a smaller vector may be a shape or an axis rather than a weight


def lenet() -> Any:
    """LeNet-5 as in the NeuralPower paper (arXiv 1710.05420): one channel of 32 x 32 pixels, ten classes."""
    features = nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2)
    )
    classifier = nn.Sequential(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
    parts = {"features": features, "flatten": nn.Flatten(), "classifier": classifier}
    return nn.Sequential(OrderedDict(parts))


def build(name: str) -> tuple[Any, tuple[int, int, int, int]]:
    """A network with random weights, and the shape of its input."""
    if name == "lenet":
        return lenet(), (1, 1, 32, 32)
    has_auxiliary = name in ("googlenet", "inception_v3")
    options = {"init_weights": False, "aux_logits": False} if has_auxiliary else {}
    side = 299 if name == "inception_v3" else 224
    return torchvision.models.get_model(name, weights=None, **options), (1, 3, side, side)


def is_weight(tensor: TensorProto) -> bool:
    """Whether a constant of the exported graph is a weight."""
    large = len(tensor.dims) > 1 or prod(tensor.dims) >= STRUCTURE_BELOW
    return bool(tensor.data_type == TensorProto.FLOAT and large)


def without_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """Turn weights into graph inputs of the same name, type and shape, in place."""
    kept = [tensor for tensor in model.graph.initializer if not is_weight(tensor)]
    for tensor in filter(is_weight, model.graph.initializer):
        value = helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        model.graph.input.append(value)
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    return model


def export(name: str, folder: Path) -> Path:
    """Write one network's file and return its path."""
    network, shape = build(name)
    for value in network.state_dict().values():
        if value.is_floating_point():  # all different, so that the exporter takes no two for the same constant
            value.uniform_(0.5, 1.5)
    path = folder / f"{name}.onnx"
    torch.onnx.export(
        network.eval(),
        (torch.zeros(shape),),
        str(path),
        input_names=["input"],
        output_names=["output"],
        opset_version=17,
        dynamo=False,
    )
    model = without_weights(shape_inference.infer_shapes(onnxslim.slim(onnx.load(str(path)))))
    model.producer_name = "torchvision " + torchvision.__version__.split("+")[0]
    model.doc_string = ""
    onnx.save(model, str(path))
    return path


def main(arguments: list[str]) -> int:
    """Export the named networks, or all."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    folder, names = Path(arguments[0]), arguments[1:] or NETWORKS
    unknown = sorted(set(names) - set(NETWORKS))
    if unknown:
        print(f"unknown networks: {', '.join(unknown)}; known are {', '.join(NETWORKS)}", file=sys.stderr)
        return 2
    warnings.filterwarnings("ignore", category=DeprecationWarning)  # the exporter that folds constants is the older one
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = export(name, folder)
        print(f"{path}: {path.stat().st_size} bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
