"""`sweep.json`: which single layers a sweep measures, in the order in which they were chosen. Ours.

It lies in the sweep's recording, `raw_data/sweep@seed0/`, beside `isolated.json`, and is written before a layer of it
is measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from edgewatt.errors import FormatError
from edgewatt.formats.checked import FileModel, read_checked, write_checked

FILE_NAME = "sweep.json"
SCHEMA_VERSION = 1
#: What the name of a sweep's recording begins with; behind it stands its seed.
PREFIX = "sweep@"
_FIX = "Sweep again: edgewatt sweep RAW_DIR --replace"


_Size = Annotated[int, Field(ge=1)]
_Padding = Annotated[int, Field(ge=0)]


class SweptLayer(FileModel):
    """One layer, by its numbers; see `edgewatt.sweep.single.SingleLayer`.

    Attributes:
        name: Unique in the sweep.
        origin: `architecture`, `design`, or `adaptive`.
        repeat_of: Name of the layer that this is measured again; None for one that is measured first.
        operation: `convolution`, `max`, `average` or `gemm`.
        input_shape: Its input's shape.
        outputs: Output channels or columns.
        kernel: Window height and width.
        stride: Step of the window.
        pre_padding: Padding above and left.
        post_padding: Padding below and right.
        dilation: Spacing of the kernel's elements.
        groups: Groups of channels.
        activation: ONNX's operator behind it; None for none.
        residual: Whether a second input is added.
        round_up: Whether a pooling's last step that leaves the input counts.
    """

    name: str
    origin: str
    repeat_of: str | None = None
    operation: Annotated[str, Field(pattern="^(convolution|max|average|gemm)$")]
    input_shape: Annotated[list[_Size], Field(min_length=2)]
    outputs: _Size
    kernel: Annotated[list[_Size], Field(min_length=2, max_length=2)]
    stride: Annotated[list[_Size], Field(min_length=2, max_length=2)]
    pre_padding: Annotated[list[_Padding], Field(min_length=2, max_length=2)]
    post_padding: Annotated[list[_Padding], Field(min_length=2, max_length=2)]
    dilation: Annotated[list[_Size], Field(min_length=2, max_length=2)]
    groups: _Size
    activation: str | None = None
    residual: bool = False
    round_up: bool = False


class SweepPlan(FileModel):
    """What a sweep is of.

    Attributes:
        schema_version: Version of this format.
        edgewatt_version: The version that began it.
        seed: Draws the layers.
        kinds: Kinds of layers.
        adaptive: Whether layers are picked where predictors know least.
        networks: Networks that picked layers were aimed at last, beside the shipped architectures.
        memory_bytes: Memory that no layer may take more than an eighth of.
        precision: What layers compute in.
        layers: The layers that were chosen until now.
    """

    schema_version: int = SCHEMA_VERSION
    edgewatt_version: str
    seed: int
    kinds: list[str]
    adaptive: bool
    networks: list[str] = Field(default_factory=list)
    memory_bytes: int
    precision: str
    layers: list[SweptLayer]


def is_sweep(name: str) -> bool:
    """Whether a recording's name, with or without its board's folder before it, is a sweep's."""
    return name.rpartition("/")[2].startswith(PREFIX)


def read_sweep_plan(folder: Path) -> SweepPlan:
    """Read a sweep's plan.

    Raises:
        FormatError: It is missing, not of this format, or of a later schema.
    """
    path = folder / FILE_NAME
    plan = read_checked(path, SweepPlan, _FIX)
    if plan.schema_version != SCHEMA_VERSION:
        raise FormatError(
            f"schema version {plan.schema_version}; this edgewatt reads version {SCHEMA_VERSION}", where=path, fix=_FIX
        )
    return plan


def write_sweep_plan(folder: Path, plan: SweepPlan) -> None:
    """Write a sweep's plan, whole or not at all."""
    write_checked(folder / FILE_NAME, plan)
