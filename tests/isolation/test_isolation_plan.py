from __future__ import annotations

import numpy as np
import pytest

from edgewatt.backends.base import NetworkFacts
from edgewatt.isolation.copies import copy_style
from edgewatt.isolation.hollow import hollow_bytes
from edgewatt.isolation.plan import Copies, choose_copies, cut_layers, further_layers, layer_s, rest_s
from edgewatt.isolation.rig import Trial
from edgewatt.isolation.single_layer import convolution_model, pooling_model


def _facts(*entries: dict[str, object]) -> NetworkFacts:
    return NetworkFacts(entries, tuple(str(entry["Name"]) for entry in entries), (1, 3, 8, 8), "float16", False)


def _trial(latency_s: list[float], call_s: float, between_s: float, *entries: dict[str, object]) -> Trial:
    return Trial(_facts(*entries), call_s, between_s, np.array(latency_s))


_SMALL = convolution_model((1, 8, 16, 16), 8, (1, 1))  # 72 weights
_LARGE = convolution_model((1, 512, 7, 7), 512, (3, 3))  # 2,359,808 weights: 9.4 MB
_POOL = pooling_model((1, 64, 56, 56), "max", (2, 2), stride=(2, 2))


@pytest.mark.parametrize(
    ("model", "runtime_s", "beside_s", "footprint", "expected"),
    [
        (_SMALL, 1e-3, 20e-6, 0, Copies(1, 1)),  # a call costs a fiftieth of the layer: one is enough
        (_SMALL, 50e-6, 100e-6, 0, Copies(40, 1)),  # 20 x 100 us are 40 x 50 us
        (_SMALL, 50e-6, 100e-6, 50_000_000, Copies(40, 1)),  # 288 bytes of weights: cold or warm is the same
        (_LARGE, 1e-3, 1e-6, 50_000_000, Copies(6, 6)),  # 50 MB are 5.3 times the weights
        (_LARGE, 1e-3, 1e-6, 0, Copies(1, 1)),
        (_POOL, 1e-6, 1e-3, 50_000_000, Copies(512, 1)),  # no more than 512, and no weights to keep cold
    ],
)
def test_there_are_as_many_copies_as_calls_and_caches_ask_for(
    model: object, runtime_s: float, beside_s: float, footprint: int, expected: Copies
) -> None:
    assert choose_copies(model, runtime_s, beside_s, footprint) == expected


def test_inputs_stay_in_a_processor_s_cache() -> None:
    """Of 1 MB in and out each, four fit; with weights of their own, copies share the input and may be as many."""
    style = copy_style("onnxruntime")
    image = pooling_model((1, 64, 56, 56), "max", (2, 2), stride=(2, 2))  # 803 kB and 201 kB
    assert choose_copies(image, 1e-6, 1e-3, 50_000_000, style=style) == Copies(4, 1)
    assert choose_copies(_SMALL, 50e-6, 100e-6, 50_000_000, style=style) == Copies(40, 40)


def test_copies_fit_into_memory() -> None:
    image = pooling_model((16, 64, 224, 224), "max", (2, 2), stride=(2, 2))  # 205 MB in, 51 MB out
    assert choose_copies(image, 1e-6, 1e-3, 0).copies == 2
    assert hollow_bytes(_LARGE) == (512 * 512 * 9 + 512) * 4


def test_the_probe_s_layer_has_copies_to_tell_it_by() -> None:
    assert choose_copies(_SMALL, 1e-3, 1e-6, 0, least=8).copies == 8


def test_what_the_backend_added_is_told_from_the_layer() -> None:
    shape = {"Dimensions": [1, 8, 16, 16], "Format/Datatype": "Half"}
    tensors = {"Inputs": [shape], "Outputs": [shape]}
    window = {"Kernel": [1, 1], "OutMaps": 8, "Groups": 1, "Stride": [1, 1]}
    layer = {"Name": "conv", "LayerType": "CaskConvolution", "ParameterType": "Convolution", **tensors, **window}
    copy = {"Name": "Reformatting CopyNode for x0", "LayerType": "Reformat", "ParameterType": "Reformat", **tensors}
    share, further = further_layers(_trial([10e-6, 30e-6], 45e-6, 5e-6, copy, layer))
    assert (share, further) == (pytest.approx(0.75), ["Reformatting CopyNode for x0"])
    assert further_layers(_trial([30e-6], 45e-6, 5e-6, layer)) == (1.0, [])


def test_a_trial_tells_what_a_call_takes_beside_its_layers() -> None:
    trial = _trial([30e-6], 45e-6, 5e-6, {"Name": "a"})
    assert (layer_s(trial), rest_s(trial)) == (pytest.approx(30e-6), pytest.approx(20e-6))
    slowed = _trial([60e-6], 45e-6, 5e-6, {"Name": "a"})  # by the profiler
    assert (layer_s(slowed), rest_s(slowed)) == (pytest.approx(45e-6), pytest.approx(5e-6))


def test_layers_without_a_file_are_built_or_listed() -> None:
    shape = {"Dimensions": [1, 8, 16, 16], "Format/Datatype": "Half"}
    tensors = {"Inputs": [shape], "Outputs": [shape]}
    kernel = {"Name": "{ForeignNode[a...b]}", "LayerType": "kgen", "ParameterType": "kgen", **tensors}
    nothing = {"Name": "shape", "LayerType": "NoOp", "ParameterType": "NoOp", **tensors}
    found = cut_layers(_facts(kernel, nothing), None, "engine")
    assert [(layer.executed, bool(layer.reason), layer.model) for layer in found] == [
        (True, True, None),
        (False, False, None),
    ]
