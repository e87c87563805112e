"""What a fitted function says of layers: a value, how sure it is, and whether it has seen their like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.terms import Array


@dataclass(frozen=True, eq=False)
class Estimate:
    """Predictions of n layers.

    Attributes:
        value: In the target's unit, shape (n,).
        spread: How far off the logarithm of the value may be, up to a common factor, shape (n,). It is what
            intervals are made of.
        distant: Layers that are far from all that were trained on, shape (n,).
    """

    value: Array
    spread: Array
    distant: NDArray[np.bool_]

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Estimate:
        """Some of the layers."""
        return Estimate(self.value[rows], self.spread[rows], self.distant[rows])


class Function(Protocol):
    """A fitted function of a layer's features: what is stored, and what predicts."""

    @property
    def kind(self) -> LayerKind | None:
        """The kind of layer that it is for; None for all."""

    def predict(self, table: pl.DataFrame) -> Array:
        """Predict the target, shape (rows,)."""

    def estimate(self, table: pl.DataFrame) -> Estimate:
        """Predict the target and how sure it is."""


@runtime_checkable
class KindFunction(Protocol):
    """A function that can be told the kind of layer, as one for all kinds must be."""

    def estimate_kind(self, kind: LayerKind, table: pl.DataFrame) -> Estimate:
        """Predict layers of a kind."""


def plain_estimate(value: Array) -> Estimate:
    """Predictions of a function that does not know how sure it is of which."""
    return Estimate(value, np.ones(len(value)), np.zeros(len(value), dtype=np.bool_))
