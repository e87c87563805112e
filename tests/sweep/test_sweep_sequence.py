from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from edgewatt.errors import EdgewattError
from edgewatt.networks.layer import LayerKind
from edgewatt.sweep.limits import Limits, memory_bytes
from edgewatt.sweep.repeats import repeat_moments
from edgewatt.sweep.sequence import KIND_SHARES, Candidate, sweep_sequence
from edgewatt.sweep.shipped import architecture_layers, shipped_layers
from edgewatt.sweep.single import SingleLayer

KINDS = tuple(KIND_SHARES)
LIMITS = Limits(8 * 10**9)


@pytest.fixture(scope="module")
def many() -> list[Candidate]:
    return list(islice(sweep_sequence(KINDS, LIMITS, 3), 500))


def test_a_longer_sweep_begins_like_a_shorter_one(many: list[Candidate]) -> None:
    assert list(islice(sweep_sequence(KINDS, LIMITS, 3), 60)) == many[:60]
    assert list(islice(sweep_sequence(KINDS, LIMITS, 4), 60)) != many[:60]


def test_kinds_and_origins_have_their_shares(many: list[Candidate]) -> None:
    kinds = Counter(candidate.layer.kind for candidate in many)
    assert kinds == {LayerKind.CONVOLUTIONAL: 350, LayerKind.POOLING: 60, LayerKind.DENSE: 90}
    origins = Counter(candidate.origin for candidate in many)
    assert origins == {"architecture": 250, "design": 250}


def test_designed_convolutions_have_their_shares(many: list[Candidate]) -> None:
    layers = [c.layer for c in many if c.layer.kind is LayerKind.CONVOLUTIONAL and c.origin == "design"]
    depthwise = sum(1 < layer.groups == layer.input_shape[1] for layer in layers)
    pointwise = sum(layer.kernel == (1, 1) for layer in layers)
    assert depthwise / len(layers) == pytest.approx(0.2, abs=0.04)
    assert pointwise / len(layers) == pytest.approx(0.3, abs=0.04)
    assert {layer.input_shape[0] for layer in layers} >= {1, 2, 4, 8}
    assert {layer.dilation for layer in layers} >= {(1, 1), (2, 2)}
    assert {layer.kernel[0] for layer in layers} >= {1, 3, 5, 7, 11}


def test_no_layer_is_drawn_twice_or_too_large_or_degenerate(many: list[Candidate]) -> None:
    layers = [candidate.layer for candidate in many]
    assert len({layer.without_details() for layer in layers}) == len(layers)
    for layer in layers:
        assert layer.elements * 4 <= 10**9
        assert layer.macs <= 4 * 10**9
        assert min(layer.output_shape) >= 1
        if layer.operation != "gemm":
            span = layer.dilation[0] * (layer.kernel[0] - 1) + 1
            assert span <= layer.input_shape[2]
        assert layer.layer("one", "float16").kind is layer.kind


def test_a_board_of_little_memory_gets_small_layers() -> None:
    small = Limits(16 * 10**6)
    layers = [candidate.layer for candidate in islice(sweep_sequence(KINDS, small, 0), 60)]
    assert max(layer.elements for layer in layers) * 4 <= 2 * 10**6
    with pytest.raises(EdgewattError, match="holds no more"):
        next(sweep_sequence((LayerKind.CONVOLUTIONAL,), Limits(800), 0))


def test_a_window_that_does_not_fit_is_not_drawn() -> None:
    assert not LIMITS.admit(SingleLayer("convolution", (1, 8, 4, 4), 8, (7, 7), (1, 1), (3, 3), (3, 3)))
    assert not LIMITS.admit(SingleLayer("max", (1, 8, 4, 4), 8, (3, 3), round_up=False, pre_padding=(-3, 0)))
    assert LIMITS.admit(SingleLayer("convolution", (1, 8, 7, 7), 8, (7, 7)))


def test_layers_of_architectures_that_are_left_out_are_not_drawn() -> None:
    found = islice(sweep_sequence(KINDS, LIMITS, 0, leave_out=("resnet18",)), 300)
    drawn = {candidate.layer for candidate in found if candidate.origin == "architecture"}
    assert drawn.isdisjoint(architecture_layers("resnet18"))
    assert not drawn.isdisjoint(architecture_layers("mobilenet_v2"))
    assert shipped_layers(LayerKind.DENSE, ("alexnet",)).total() < shipped_layers(LayerKind.DENSE).total()


def test_layers_of_a_backend_that_fuses_nothing_have_no_tails() -> None:
    layers = [candidate.layer for candidate in islice(sweep_sequence(KINDS, LIMITS, 0, tails=False), 300)]
    assert {(layer.activation, layer.residual) for layer in layers} == {(None, False)}
    assert len(set(layers)) == 300


def test_kinds_that_are_not_swept_are_told() -> None:
    with pytest.raises(EdgewattError, match="other"):
        next(sweep_sequence((LayerKind.OTHER,), LIMITS, 0))


@pytest.mark.parametrize("seed", range(5))
def test_five_of_a_hundred_and_then_five_per_cent_are_measured_again(seed: int) -> None:
    moments = {number: repeat_moments(number, seed) for number in range(500)}
    repeated = [number for number, found in moments.items() if found]
    assert sum(number < 10 for number in repeated) == 5
    assert len(repeated) == 25
    for number in repeated:
        assert len(moments[number]) == 2
        assert number < moments[number][0] < moments[number][1]


def test_the_memory_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text("MemTotal:        7620512 kB\nMemFree: 1 kB\n")
    assert memory_bytes(tmp_path) == 7620512 * 1024
    with pytest.raises(EdgewattError):
        memory_bytes(tmp_path / "nowhere")
