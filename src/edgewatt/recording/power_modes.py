"""A Jetson's power modes: which there are, and switching between them with NVIDIA's `nvpmodel`.

    /etc/nvpmodel.conf    < POWER_MODEL ID=0 NAME=15W > and what it sets, a line each
    nvpmodel -q           NV Power Mode: 15W, and its number in the next line; warnings may come before
    nvpmodel -m 3         switches, or asks on its standard input whether to restart the machine

Numbers mean other modes on other modules, so modes are known by their names. A mode whose power gating differs needs a
restart; so do some that change the number of processors. No file tells for sure, so it is found out by asking for the
mode and answering no to the restart, which leaves the mode as it was.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from edgewatt.errors import EdgewattError, NoDeviceError, warn

CONFIGURATION = "etc/nvpmodel.conf"
_BLOCK = re.compile(r"<\s*(\w+)\s+([^>]*)>")
_ANSWER = re.compile(r"NV Power Mode:\s*(\S+)\s+(\d+)\s*$", re.MULTILINE)
_PLACES = ("usr/sbin", "usr/bin")
#: Switching takes a second or two; a program that waits for an answer that it does not get must not wait for ever.
_TIMEOUT_S = 60.0


class RestartNeededError(EdgewattError):
    """A power mode that only a restart of the machine brings."""


@dataclass(frozen=True)
class PowerMode:
    """A power mode.

    Attributes:
        number: Its number on this module.
        name: Its name.
        settings: What it sets: `TPC_POWER_GATING TPC_PG_MASK`, for instance, and the value.
    """

    number: int
    name: str
    settings: Mapping[str, str] = field(default_factory=dict)


def read_power_modes(root: Path = Path("/")) -> list[PowerMode]:
    """The power modes of a board, in the order of their file; none where there is no such file.

    Args:
        root: Folder that /etc is read below.
    """
    try:
        text = (root / CONFIGURATION).read_text(errors="replace")
    except OSError:
        return []
    modes: list[PowerMode] = []
    settings: dict[str, str] | None = None
    for line in (raw.partition("#")[0].strip() for raw in text.splitlines()):
        block = _BLOCK.fullmatch(line)
        if block is not None:
            values = dict(part.partition("=")[::2] for part in block[2].split())
            settings = None
            if block[1] == "POWER_MODEL" and values.get("ID", "").isdigit() and values.get("NAME"):
                settings = {}
                modes.append(PowerMode(int(values["ID"]), values["NAME"], settings))
        elif settings is not None and len(words := line.split()) > 1:
            settings[" ".join(words[:-1])] = words[-1]
    return modes


class PowerModes:
    """The power modes of the machine that this runs on.

    Args:
        root: Folder that /etc and the programs of /usr are looked for below.

    Raises:
        NoDeviceError: The machine has none.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self.modes = read_power_modes(root)
        program = _program("nvpmodel", root)
        if not self.modes or program is None:
            missing = root / CONFIGURATION if not self.modes else "nvpmodel"
            raise NoDeviceError(
                f"this machine has no power modes that can be switched: there is no {missing}",
                fix="Leave --power-mode away; Jetsons have them, outside of containers",
            )
        self._nvpmodel = program

    def find(self, name: str) -> PowerMode:
        """The mode of a name.

        Raises:
            EdgewattError: There is none.
        """
        for mode in self.modes:
            if mode.name == name:
                return mode
        raise EdgewattError(
            f"there is no power mode {name!r}",
            where=self._root / CONFIGURATION,
            fix=f"Use one of: {', '.join(mode.name for mode in self.modes)}",
        )

    def current(self) -> PowerMode:
        """The mode that is set.

        Raises:
            EdgewattError: nvpmodel does not tell.
        """
        status, output = self._run("-q")
        answer = _ANSWER.search(output)
        if answer is None:
            raise EdgewattError(f"nvpmodel does not tell the power mode: {_last_line(output, status)}")
        number = int(answer[2])
        return next((mode for mode in self.modes if mode.number == number), PowerMode(number, answer[1]))

    def switch(self, mode: PowerMode) -> None:
        """Switch to a mode; nothing is done where it is set already.

        Raises:
            RestartNeededError: Only a restart brings it; the mode is as it was.
            EdgewattError: It was not switched.
        """
        before = self.current()
        if before.number == mode.number:
            return
        status, output = self._run("-m", str(mode.number))
        if "reboot required" in output.lower():
            raise RestartNeededError(
                f"the power mode {mode.name} needs a restart{_gating(before, mode)}",
                fix=f"Set it with `sudo nvpmodel -m {mode.number}`, restart, and record in it alone",
            )
        if self.current().number != mode.number:
            raise EdgewattError(
                f"the power mode could not be set to {mode.name}: {_last_line(output, status)}",
                fix="Run as root, outside of containers",
            )

    def lock_clocks(self) -> None:
        """Lock the clocks at the highest of the mode that is set."""
        program = _program("jetson_clocks", self._root)
        if program is None:
            warn("the clocks were locked, and cannot be in this power mode: there is no jetson_clocks")
            return
        status, output = _output([str(program)])
        if status:
            warn(f"the clocks could not be locked in this power mode: {_last_line(output, status)}")

    def _run(self, *arguments: str) -> tuple[int, str]:
        return _output([str(self._nvpmodel), *arguments])


def _output(command: list[str]) -> tuple[int, str]:
    """Exit status and all output of a program, to whose questions the answer is no."""
    try:
        done = subprocess.run(
            command,
            input="no\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
            # A Ctrl-C at the terminal is ours to handle: half a switch is none.
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise EdgewattError(f"{command[0]} did not end within {_TIMEOUT_S:g} s") from error
    except OSError as error:
        raise EdgewattError(f"cannot be run: {error.strerror or error}", where=command[0], fix="Run as root") from error
    return done.returncode, done.stdout


def _program(name: str, root: Path) -> Path | None:
    for place in _PLACES:
        if (root / place / name).is_file():
            return root / place / name
    found = shutil.which(name) if root == Path("/") else None
    return None if found is None else Path(found)


def _gating(before: PowerMode, mode: PowerMode) -> str:
    """Why a restart is needed, as far as the configuration tells."""
    differing = [
        f"{name.split()[-1]} {before.settings.get(name, 'not set')} to {value}"
        for name, value in mode.settings.items()
        if "PG_MASK" in name and before.settings.get(name) != value
    ]
    cores = [
        sum(value == "1" for name, value in one.settings.items() if "CPU_ONLINE" in name) for one in (before, mode)
    ]
    if cores[0] != cores[1]:
        differing.append(f"processors {cores[0]} to {cores[1]}")
    return f" (it changes {', '.join(differing)})" if differing else ""


def _last_line(output: str, status: int) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else f"exit status {status}"
