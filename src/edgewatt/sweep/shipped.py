"""The layers of the shipped architectures, each different one once, in an order in which rare ones come early."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np

from edgewatt.errors import EdgewattError
from edgewatt.networks.architectures import architecture_names, network_layers
from edgewatt.networks.layer import LayerKind
from edgewatt.sweep.single import SingleLayer, single_layer


@cache
def architecture_layers(name: str) -> tuple[SingleLayer, ...]:
    """The layers of an architecture, an ONNX file or an engine that a sweep could measure, in execution order."""
    found = (single_layer(layer) for layer in network_layers(name))
    return tuple(layer for layer in found if layer is not None)


def layers_of_networks(networks: Sequence[str]) -> tuple[SingleLayer, ...]:
    """The different layers of networks that a sweep could measure.

    Args:
        networks: Architectures, ONNX files or engines.

    Raises:
        EdgewattError: A network cannot be read, or has no such layer.
    """
    found: dict[SingleLayer, None] = {}
    for name in networks:
        layers = architecture_layers(name)
        if not layers:
            raise EdgewattError("no layer of this network is of a kind that is swept", where=name)
        found |= dict.fromkeys(layers)
    return tuple(found)


def shipped_layers(kind: LayerKind, leave_out: Sequence[str] = (), *, tails: bool = True) -> Counter[SingleLayer]:
    """The different layers of a kind, and how often each occurs in all architectures.

    Args:
        kind: The kind.
        leave_out: Architectures whose layers are left out, wherever else they occur.
        tails: Whether layers have their activations and residual additions.
    """
    hidden = {layer for name in leave_out for layer in architecture_layers(name)}
    return Counter(
        layer if tails else layer.without_tail()
        for name in architecture_names()
        if name not in leave_out
        for layer in architecture_layers(name)
        if layer.kind is kind and layer not in hidden
    )


def drawn_order(layers: Counter[SingleLayer], random: np.random.Generator) -> list[SingleLayer]:
    """Layers in a random order.

    Each is drawn with a weight that grows with the root of how often it occurs, divided by the root of how many
    different layers have its window: what is common comes early, and so does what is rare.

    Args:
        layers: How often each occurs.
        random: Draws the order.
    """
    names = list(layers)
    windows = Counter(_window(layer) for layer in names)
    weights = np.array([np.sqrt(layers[layer] / windows[_window(layer)]) for layer in names])
    # The order of a weighted draw without replacement: P. Efraimidis and P. Spirakis, "Weighted random sampling with a
    # reservoir", Information Processing Letters 97 (2006).
    keys = np.log(random.uniform(1e-12, 1.0, len(names))) / weights
    return [names[index] for index in np.argsort(-keys)]


def _window(layer: SingleLayer) -> tuple[object, ...]:
    groups = "depthwise" if 1 < layer.groups == layer.input_shape[1] else min(layer.groups, 2)
    return (layer.operation, layer.kernel, layer.stride, groups, len(layer.input_shape))
