"""Which layers to measure next: where predictors know least of what real networks use.

Predictors are trained on what is there. How wide their intervals are at each different layer of the shipped
architectures, and with less weight at designed ones, is what is to be lowered. A candidate lowers it at the layers that
it is like:

    gain(candidate) = sum over layers of   weight x spread^2 x (how alike they are - how alike one already picked is)+

Picking the candidate of the greatest gain again and again (a facility location; G. Nemhauser et al., "An analysis of
approximations for maximizing submodular set functions", Mathematical Programming 14, 1978) keeps a batch diverse: what
is near to one that was picked gains little more. A fifth of each batch is drawn as in a sweep that is not adaptive: it
finds what nobody expected, and how far predictors are off on it says how far they are off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import polars as pl

from edgewatt.dataset.features import feature_frame
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.neuralpower import MINIMUM_ROWS
from edgewatt.predictors.physical_features import DISTANCE_FEATURES, physical_features
from edgewatt.predictors.physics import layer_amounts
from edgewatt.predictors.physics_predictor import PhysicsPredictor
from edgewatt.predictors.targets import Target, target_values
from edgewatt.predictors.terms import Array, stack
from edgewatt.sweep.limits import Limits
from edgewatt.sweep.sequence import KIND_SHARES, Candidate, sweep_sequence
from edgewatt.sweep.shipped import shipped_layers
from edgewatt.sweep.single import SingleLayer

#: Candidates of all kinds that a batch is picked from.
_POOL = 1500
#: Share of a batch that is drawn, not picked.
DRAWN_SHARE = 0.2
#: Layers whose features differ by so many standard deviations altogether are alike to exp(-1/2). Of 0.35, 0.5, 1 and 2
#: this one came out best on the simulated board (benchmarks/sweep.py, seeds 0 and 1).
_ALIKE = 0.5
#: What designed layers count altogether, where those of the architectures count 1: without them runtimes come out
#: worse, with as much weight as those powers do (0, 0.5 and 1.5 were tried).
_DESIGNED_WEIGHT = 0.3
#: No interval is narrower: below it is noise.
_LEAST_SPREAD = 0.03

Tables = Mapping[LayerKind, pl.DataFrame]


@dataclass(frozen=True)
class Picker:
    """Picks layers to be measured next.

    Attributes:
        kinds: Kinds of layers.
        limits: What the board holds.
        seed: The sweep's.
        precision: What layers compute in.
        leave_out: Architectures that are taken not to be known.
        tails: Whether layers have activations and residual additions.
    """

    kinds: tuple[LayerKind, ...]
    limits: Limits
    seed: int
    precision: str
    leave_out: tuple[str, ...] = ()
    tails: bool = True

    def pick(self, tables: Tables, count: int, known: set[SingleLayer]) -> list[Candidate]:
        """Pick layers.

        Args:
            tables: What was measured until now, with the column `network`.
            count: How many.
            known: Layers that are not to be picked, as `SingleLayer.without_details` gives them.
        """
        found: list[Candidate] = []
        for kind, number in self._numbers(tables, count).items():
            new = [i for i, candidate in enumerate(self._pool[kind]) if candidate.layer.without_details() not in known]
            picked = self._pick_kind(kind, tables, number, new)
            found += [Candidate(self._pool[kind][index].layer, "adaptive") for index in picked]
        return found

    def _numbers(self, tables: Tables, count: int) -> dict[LayerKind, int]:
        """Layers of each kind, so that kinds come to have their shares."""
        counts = {kind: tables[kind].height if kind in tables else 0 for kind in self.kinds}
        total = sum(KIND_SHARES[kind] for kind in self.kinds)
        wanted = dict.fromkeys(self.kinds, 0)
        for _ in range(count):
            kind = min(self.kinds, key=lambda k: (counts[k] + wanted[k]) * total / KIND_SHARES[k])
            wanted[kind] += 1
        return wanted

    def _pick_kind(self, kind: LayerKind, tables: Tables, count: int, new: list[int]) -> list[int]:
        places = self._places[kind]
        spread = self._spread(kind, tables)
        if spread is None or not len(places.weights):
            return new[:count]
        value = places.weights * np.maximum(spread**2 - _LEAST_SPREAD**2, 1e-6)
        alike = places.alike[new]
        covered = np.zeros(len(value))
        picked: list[int] = []
        for _ in range(min(count, len(new))):
            gains = np.maximum(alike - covered, 0.0) @ value
            gains[picked] = -1.0
            best = int(gains.argmax())
            picked.append(best)
            covered = np.maximum(covered, alike[best])
        return [new[index] for index in picked]

    def _spread(self, kind: LayerKind, tables: Tables) -> Array | None:
        """How unsure predictors are of each wanted layer of a kind, in the logarithm; None where there are too few."""
        parts = []
        for target in Target:
            if kind not in tables:
                continue
            y = target_values(tables[kind], target)
            rows = np.flatnonzero(np.isfinite(y))
            if len(rows) >= MINIMUM_ROWS:
                predictor = PhysicsPredictor(kind, target).fit(tables[kind][rows], y[rows], None, tables)
                parts.append(predictor.function_.estimate(self._wanted[kind]).spread)
        return np.sqrt(np.mean(np.square(parts), axis=0)) if parts else None

    @cached_property
    def _pool(self) -> dict[LayerKind, list[Candidate]]:
        sequence = sweep_sequence(self.kinds, self.limits, self.seed, leave_out=self.leave_out, tails=self.tails)
        pool: dict[LayerKind, list[Candidate]] = {kind: [] for kind in self.kinds}
        for candidate in islice(sequence, round(_POOL * sum(KIND_SHARES[kind] for kind in self.kinds))):
            pool[candidate.layer.kind].append(candidate)
        return pool

    @cached_property
    def _weights(self) -> dict[LayerKind, dict[SingleLayer, float]]:
        """The layers that predictors should know, and what each counts."""
        found = {}
        for kind in self.kinds:
            counted = shipped_layers(kind, self.leave_out, tails=self.tails)
            weights = {layer: number**0.5 for layer, number in counted.items() if self.limits.admit(layer)}
            designed = [candidate.layer for candidate in self._pool[kind] if candidate.origin == "design"]
            designed = designed[-max(len(weights), 1) :]
            one = _DESIGNED_WEIGHT * (sum(weights.values()) or 1.0) / max(len(designed), 1)
            found[kind] = {**dict.fromkeys(designed, one), **weights}
        return found

    @cached_property
    def _wanted(self) -> dict[LayerKind, pl.DataFrame]:
        return {kind: self._described(kind, list(layers)) for kind, layers in self._weights.items()}

    @cached_property
    def _places(self) -> dict[LayerKind, _Places]:
        result = {}
        for kind, weights in self._weights.items():
            wanted = _features(kind, self._wanted[kind])
            pool = _features(kind, self._described(kind, [candidate.layer for candidate in self._pool[kind]]))
            both = np.vstack([wanted, pool])
            centre, scale = both.mean(axis=0), both.std(axis=0)
            scale[scale < 1e-9] = np.inf  # the same for all: no difference
            wanted, pool = (wanted - centre) / scale, (pool - centre) / scale
            squares = (pool**2).sum(axis=1)[:, None] + (wanted**2).sum(axis=1) - 2.0 * pool @ wanted.T
            alike = np.exp(-np.maximum(squares, 0.0) / (2.0 * _ALIKE**2))
            result[kind] = _Places(alike, np.array(list(weights.values()), dtype=np.float64))
        return result

    def _described(self, kind: LayerKind, layers: Sequence[SingleLayer]) -> pl.DataFrame:
        named = [layer.layer(str(index), self.precision) for index, layer in enumerate(layers)]
        return feature_frame(kind, named)


@dataclass(frozen=True, eq=False)
class _Places:
    """Where candidates and wanted layers lie.

    Attributes:
        alike: How alike each candidate and each wanted layer are, from 0 to 1, shape (candidates, wanted).
        weights: What each wanted layer counts, shape (wanted,).
    """

    alike: Array
    weights: Array


def _features(kind: LayerKind, table: pl.DataFrame) -> Array:
    features = physical_features(layer_amounts(kind, table, detailed=True))
    return stack(features, DISTANCE_FEATURES)
