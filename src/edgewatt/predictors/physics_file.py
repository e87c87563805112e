"""A physics function as the fields of a predictor's file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field, FiniteFloat, NonNegativeFloat, NonNegativeInt, PositiveFloat

from edgewatt.errors import FormatError
from edgewatt.formats.checked import FileModel
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.anchors import Anchors
from edgewatt.predictors.cost_model import CostMean, CostModel
from edgewatt.predictors.forest import LEAF, Forest
from edgewatt.predictors.physical_features import cost_terms, power_terms
from edgewatt.predictors.physics import AMOUNTS, LayerAmounts
from edgewatt.predictors.physics_function import PhysicsFunction, tree_features
from edgewatt.predictors.targets import Target


class _Costs(FileModel):
    coefficients: dict[str, NonNegativeFloat]
    least: PositiveFloat


class _Trees(FileModel):
    """All trees' nodes, each tree in preorder.

    `feature` is the position in `features` that a node splits on, -1 for a leaf; `number` a split's threshold or a
    leaf's value. A split's left child is the next node, its right child `right` nodes on; at a leaf it is 0.
    """

    features: list[str]
    roots: list[NonNegativeInt]
    feature: list[int]
    number: list[FiniteFloat]
    right: list[NonNegativeInt]


class _AnchorFields(FileModel):
    features: list[str]
    centre: list[FiniteFloat]
    scale: list[PositiveFloat]
    points: list[list[FiniteFloat]]
    near: PositiveFloat
    far: PositiveFloat


class PhysicsFields(FileModel):
    """What a file holds of a physics function."""

    detailed: bool
    time: Annotated[list[_Costs], Field(min_length=1)]
    power: _Costs | None = None
    share: FiniteFloat
    fades: bool
    residual: NonNegativeFloat
    lower: PositiveFloat
    upper: PositiveFloat
    anchors: _AnchorFields
    trees: _Trees


def physics_fields(function: PhysicsFunction) -> PhysicsFields:
    """The fields of a physics function."""
    anchors, forest = function.anchors, function.forest
    leaf = forest.feature == LEAF
    nodes = np.arange(len(leaf))
    if not (forest.left[~leaf] == nodes[~leaf] + 1).all():
        raise ValueError("the trees are not in preorder")
    return PhysicsFields(
        detailed=function.detailed,
        time=[_cost_fields(model) for model in function.time.models],
        power=None if function.power is None else _cost_fields(function.power),
        share=function.share,
        fades=function.fades,
        residual=function.residual,
        lower=function.lower,
        upper=function.upper,
        anchors=_AnchorFields(
            features=list(anchors.features),
            centre=anchors.centre.tolist(),
            scale=anchors.scale.tolist(),
            points=anchors.points.tolist(),
            near=anchors.near,
            far=anchors.far,
        ),
        trees=_Trees(
            features=list(function.features),
            roots=forest.roots.tolist(),
            feature=forest.feature.tolist(),
            number=np.where(leaf, forest.value, forest.threshold).tolist(),
            right=np.where(leaf, 0, forest.right - nodes).tolist(),
        ),
    )


def physics_of(content: PhysicsFields, kind: LayerKind | None, target: Target, path: Path, fix: str) -> PhysicsFunction:
    """The physics function of a file's fields.

    Raises:
        FormatError: The fields contradict each other.
    """
    problem = _tree_problem(content.trees) or _name_problem(content) or _anchor_problem(content.anchors)
    if (content.power is None) is (target is Target.POWER):
        problem = "it has no costs of a power" if target is Target.POWER else "it has costs of a power"
    if problem is not None:
        raise FormatError(problem, where=path, fix=fix)
    return PhysicsFunction(
        kind=kind,
        target=target,
        detailed=content.detailed,
        features=tuple(content.trees.features),
        time=CostMean(tuple(CostModel(costs.coefficients, costs.least) for costs in content.time)),
        power=None if content.power is None else CostModel(content.power.coefficients, content.power.least),
        share=content.share,
        fades=content.fades,
        forest=_forest(content.trees),
        residual=content.residual,
        anchors=Anchors(
            features=tuple(content.anchors.features),
            centre=np.array(content.anchors.centre, dtype=np.float64),
            scale=np.array(content.anchors.scale, dtype=np.float64),
            points=np.array(content.anchors.points, dtype=np.float64),
            near=content.anchors.near,
            far=content.anchors.far,
        ),
        lower=content.lower,
        upper=content.upper,
    )


def _cost_fields(costs: CostModel) -> _Costs:
    return _Costs(coefficients=dict(costs.coefficients), least=costs.least)


def _forest(trees: _Trees) -> Forest:
    feature = np.array(trees.feature, dtype=np.int64)
    number = np.array(trees.number, dtype=np.float64)
    leaf, nodes = feature == LEAF, np.arange(len(feature))
    return Forest(
        roots=np.array(trees.roots, dtype=np.int64),
        feature=feature,
        threshold=np.where(leaf, 0.0, number),
        left=np.where(leaf, nodes, nodes + 1),
        right=np.where(leaf, nodes, nodes + np.array(trees.right, dtype=np.int64)),
        value=np.where(leaf, number, 0.0),
    )


def _tree_problem(trees: _Trees) -> str | None:
    nodes = len(trees.feature)
    if len(trees.number) != nodes or len(trees.right) != nodes:
        return "the arrays of the trees differ in length"
    if nodes == 0 or not trees.roots or max(trees.roots) >= nodes:
        return "a tree has no root"
    feature, right = np.array(trees.feature), np.array(trees.right)
    if feature.min() < LEAF or feature.max() >= len(trees.features):
        return "a tree splits on a feature that the list of features lacks"
    split = feature != LEAF
    # Children come after their parents, so that every walk ends at a leaf.
    at = np.flatnonzero(split)
    if (right[split] < 2).any() or (at + right[split] >= nodes).any() or split[-1]:
        return "a tree's child lies outside the tree"
    return None


def _name_problem(content: PhysicsFields) -> str | None:
    """Names that this version makes no features or terms of."""
    one = LayerAmounts({name: np.ones(1) for name in AMOUNTS}, ("",))
    features = tree_features(one, CostMean((CostModel({}, 1.0),)))
    unknown = [name for name in content.trees.features if name not in features and not name.startswith("is ")]
    unknown += [name for name in content.anchors.features if name not in features]
    unknown += [name for costs in content.time for name in costs.coefficients if name not in cost_terms(one)]
    if content.power is not None:
        unknown += [name for name in content.power.coefficients if name not in power_terms(one, np.ones(1))]
    return f"there is no feature or term {unknown[0]!r}" if unknown else None


def _anchor_problem(anchors: _AnchorFields) -> str | None:
    width = len(anchors.features)
    lengths = {len(anchors.centre), len(anchors.scale), *(len(point) for point in anchors.points)}
    if not anchors.points or lengths != {width}:
        return "the layers trained on have not one number for each feature"
    return None
