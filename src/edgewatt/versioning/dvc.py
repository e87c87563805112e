"""DVC as a command in one repository; its command line is the interface that it keeps stable."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from edgewatt.errors import EdgewattError
from edgewatt.extras import check_extra

#: DVC reports to nobody what it is used for.
_SILENT = {"DVC_NO_ANALYTICS": "true"}

_ERROR = "ERROR:"
_FIX = "`dvc status` and `dvc remote list` in that folder show more; the same command may be given again"

#: DVC takes half a second to start, so one process runs several commands, up to the first that fails.
_SCRIPT = """
import json, sys
from dvc.cli import main
for command in json.loads(sys.argv[1]):
    if status := main(command):
        sys.exit(status)
"""


class DvcError(EdgewattError):
    """DVC refused."""


def check_dvc() -> None:
    """Check that DVC is there.

    Raises:
        EdgewattError: It is not.
    """
    check_extra("dvc", "data", "versions of data need DVC, which is not installed")


@dataclass(frozen=True)
class Dvc:
    """A DVC repository.

    Attributes:
        root: The folder that holds `.dvc`.
        settings: What it and the user are configured to, by name: `core.remote` and so on.
    """

    root: Path
    settings: Mapping[str, str] = field(default_factory=dict)

    def run(self, *commands: Sequence[str]) -> str:
        """Run commands of DVC one after another, up to the first that fails.

        Args:
            commands: Each a command's name and its arguments.

        Returns:
            What they printed.

        Raises:
            DvcError: One failed.
        """
        ended = subprocess.run(
            [sys.executable, "-c", _SCRIPT, json.dumps([list(command) for command in commands])],
            cwd=self.root,
            env={**os.environ, **_SILENT, "PYTHONSAFEPATH": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if ended.returncode != 0:
            raise DvcError(_told(ended.stderr or ended.stdout), where=self.root, fix=_FIX)
        return ended.stdout


def pointer_of(folder: Path) -> Path:
    """The file that stands for a folder under version control."""
    return folder.with_name(f"{folder.name}.dvc")


def _told(output: str) -> str:
    """DVC's errors, a line; or the last line where it names none."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    starts = [i for i, line in enumerate(lines) if line.startswith(_ERROR)]
    if not starts:
        return f"DVC: {lines[-1] if lines else 'it said nothing'}"
    found = " ".join(lines[starts[0] :]).replace(_ERROR, "").partition("Having any troubles?")[0].split()
    return "DVC: " + " ".join(found)
