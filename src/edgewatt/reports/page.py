"""What the terminal shows, kept as a page."""

from __future__ import annotations

import io
from dataclasses import dataclass
from html import escape
from pathlib import Path

from rich.console import Console, RenderableType

from edgewatt.formats.atomic import write_bytes

#: rich fills in {code}; braces of the style sheet are doubled.
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TITLE</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 2rem; font-family: system-ui, sans-serif; }}
pre {{ overflow-x: auto; line-height: 1.35; font-family: ui-monospace, Menlo, Consolas, monospace; }}
</style>
</head>
<body><h1>TITLE</h1><pre>{code}</pre></body>
</html>
"""


@dataclass(frozen=True)
class TerminalPage:
    """Parts that are printed one below the other, or written as one page.

    Attributes:
        title: The page's title.
        parts: Tables and text.
    """

    title: str
    parts: tuple[RenderableType, ...]

    def write(self, path: Path) -> None:
        """Write the page: HTML that needs nothing from elsewhere; whole or not at all."""
        page = _PAGE.replace("TITLE", escape(self.title))
        html = self._recorded().export_html(code_format=page, inline_styles=True)
        write_bytes(path, html.encode())

    def _recorded(self) -> Console:
        console = Console(record=True, width=118, file=io.StringIO(), highlight=False)
        for part in self.parts:
            console.print(part, markup=False)
        return console
