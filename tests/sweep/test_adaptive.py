"""What is picked to be measured next."""

from __future__ import annotations

from itertools import islice
from statistics import median

import polars as pl
import pytest

from edgewatt.errors import EdgewattError
from edgewatt.formats.layer_power import LayerPower
from edgewatt.networks.layer import LayerKind
from edgewatt.simulation.board import ORIN_NANO
from edgewatt.simulation.roofline import layer_truth
from edgewatt.sweep.adaptive import Picker
from edgewatt.sweep.limits import Limits
from edgewatt.sweep.sequence import KIND_SHARES, Candidate, sweep_sequence
from edgewatt.sweep.shipped import layers_of_networks
from edgewatt.sweep.single import SingleLayer
from edgewatt.sweep.tables import swept_tables

KINDS = tuple(KIND_SHARES)
LIMITS = Limits(8 * 10**9)
Measured = tuple[dict[LayerKind, pl.DataFrame], set[SingleLayer]]


@pytest.fixture(scope="module")
def measured() -> Measured:
    """The first layers of a sweep with their true costs, and what they are."""
    drawn = list(islice(sweep_sequence(KINDS, LIMITS, 0), 60))
    layers = [candidate.layer.layer(str(number), "float16") for number, candidate in enumerate(drawn)]
    costs = zip(layers, *layer_truth(layers, ORIN_NANO), strict=True)
    rows = {
        layer.name: LayerPower(layer.name, "", float(time) * 1e3, None, float(power), None, None, None, 100, True)
        for layer, time, power in costs
    }
    return swept_tables(layers, rows, "sweep@seed0"), {candidate.layer.without_details() for candidate in drawn}


def _picked(measured: Measured, count: int = 18, **given: object) -> list[Candidate]:
    picker = Picker(KINDS, LIMITS, 0, "float16", **given)  # type: ignore[arg-type]
    return picker.pick(measured[0], count, measured[1])


def test_what_is_picked_is_new_and_has_the_shares_of_its_kinds(measured: Measured) -> None:
    layers = [candidate.layer.without_details() for candidate in _picked(measured)]
    assert len(set(layers)) == 18
    assert not set(layers) & measured[1]
    kinds = [layer.kind for layer in layers]
    total = {kind: measured[0][kind].height + kinds.count(kind) for kind in KINDS}
    assert total == {kind: pytest.approx(78 * share, abs=1) for kind, share in KIND_SHARES.items()}


def test_what_is_picked_is_like_what_it_is_aimed_at(measured: Measured) -> None:
    def work(name: str) -> float:
        picked = _picked(measured, 24, aims=layers_of_networks([name]))
        return median(c.layer.macs for c in picked if c.layer.kind is LayerKind.CONVOLUTIONAL)

    assert work("vgg19") > 1.5 * work("mnasnet1_0")


def test_without_a_measured_layer_the_first_are_taken() -> None:
    picked = Picker((LayerKind.POOLING,), LIMITS, 0, "float16").pick({}, 3, set())
    assert [one.layer for one in picked] == [
        one.layer for one in islice(sweep_sequence((LayerKind.POOLING,), LIMITS, 0), 3)
    ]


def test_a_network_that_is_none_cannot_be_aimed_at() -> None:
    with pytest.raises(EdgewattError, match="no architecture is called 'mobilenet'"):
        layers_of_networks(["mobilenet"])
