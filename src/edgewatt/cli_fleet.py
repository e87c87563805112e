"""Options of boards and power modes, which several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Board = Annotated[
    str | None,
    typer.Option(help="Only runs of this board: a part of its recorded name, or the name of its folder."),
]
PowerMode = Annotated[str | None, typer.Option(help="Only runs in this power mode: its name or a part of it.")]
Mix = Annotated[
    bool, typer.Option("--mix", help="Let runs of several boards or power modes stand together, told apart by nothing.")
]
BoardFeatures = Annotated[
    bool,
    typer.Option("--board-features", help="Let one predictor serve several boards, told apart by their figures."),
]
BoardFigures = Annotated[
    Path | None, typer.Option(help="TOML file of figures of boards that nobody published, for --board-features.")
]
