"""Layers for machines: the keys and shapes that others rely on."""

from __future__ import annotations

from edgewatt.networks.architectures import network_layers
from edgewatt.reports.layers import layers_json

KEYS = ["name", "kind", "input", "output", "kernel", "stride", "padding", "groups", "dilation", "macs", "bytes"]


def test_keys_and_shapes() -> None:
    found = layers_json(network_layers("alexnet", batch=2))
    assert set(found) == {"layers", "totals"}
    for layer in found["layers"]:
        assert set(KEYS) | {"parameters", "fused"} <= set(layer)
        assert len(layer["input"]) == len(layer["output"]) == 4
        assert len(layer["stride"]) == len(layer["padding"]) == len(layer["dilation"]) == 2
    first = found["layers"][0]
    # 64 filters of 11 x 11 over three channels at step 4: 55 x 55 outputs.
    assert (first["kind"], first["input"], first["output"]) == ("convolutional", [2, 3, 224, 224], [2, 64, 55, 55])
    assert (first["kernel"], first["stride"], first["padding"]) == ([11, 11], [4, 4], [4, 4])
    assert first["macs"] == 2 * 64 * 55 * 55 * 3 * 121
    assert sum(layer["macs"] for layer in found["layers"]) == found["totals"]["macs"]


def test_matrix_products_have_four_dimensions() -> None:
    dense = [layer for layer in layers_json(network_layers("alexnet", batch=2))["layers"] if layer["kind"] == "dense"]
    assert [(layer["input"], layer["output"]) for layer in dense] == [
        ([2, 9216, 1, 1], [2, 4096, 1, 1]),
        ([2, 4096, 1, 1], [2, 4096, 1, 1]),
        ([2, 4096, 1, 1], [2, 1000, 1, 1]),
    ]
