"""The documentation does what it says: its commands run, its links lead somewhere, its page of commands is complete."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from edgewatt.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND_LINE = ROOT / "docs" / "command-line.md"

# Blocks of these lines alone are not run: they install, or take minutes.
_NOT_RUN = re.compile(r"(make|git clone|(python3? -m )?pip install)( |$)")
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Examples are cut short below these keys.
_MAY_BE_CUT = frozenset({"metrics"})


_GROUP: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = _GROUP.commands


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int

    @property
    def lines(self) -> list[str]:
        """Lines that are neither empty nor a comment."""
        stripped = (line.strip() for line in self.text.splitlines())
        return [line for line in stripped if line and not line.startswith("#")]

    @property
    def runs(self) -> bool:
        return self.language == "python" or (
            self.language == "bash" and not all(_NOT_RUN.match(line) for line in self.lines)
        )


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in _FENCE.finditer(text)]


def page_name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """An empty folder, with the repository's scripts where a clone has them."""
    for name in ("benchmarks", "tools"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_block_runs(page: Path, scratch: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    output = ""
    for block in blocks(page):
        if block.language == "json" and output.lstrip().startswith("{"):
            assert_same_layout(json.loads(block.text), json.loads(output), f"{page.name}, line {block.line}")
        output = ""
        if not block.runs:
            continue
        command = [sys.executable, "-c"] if block.language == "python" else ["bash", "-euo", "pipefail", "-c"]
        ran = subprocess.run([*command, block.text], cwd=scratch, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, f"{page.name}, line {block.line}:\n{block.text}\n{ran.stdout}\n{ran.stderr}"
        output = ran.stdout


def assert_same_layout(shown: Any, printed: Any, where: str) -> None:
    """Check that a JSON example has the keys of what was printed; of lists the first entries are compared."""
    if isinstance(shown, dict) and isinstance(printed, dict):
        assert shown.keys() <= printed.keys(), where
        for key in shown:
            if key not in _MAY_BE_CUT:
                assert_same_layout(shown[key], printed[key], f"{where}, {key}")
        if not where.endswith(tuple(_MAY_BE_CUT)):
            assert shown.keys() == printed.keys(), where
    elif isinstance(shown, list) and isinstance(printed, list):
        for one, other in zip(shown[:1], printed[:1], strict=False):
            assert_same_layout(one, other, f"{where}, first entry")
    else:
        numbers = (int, float)
        both_numbers = isinstance(shown, numbers) and isinstance(printed, numbers)
        assert None in (shown, printed) or both_numbers or type(shown) is type(printed), where


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_make_target_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        word
        for block in blocks(page)
        if block.language == "bash"
        for line in block.lines
        if line.startswith("make")
        for word in line.partition("#")[0].split()[1:]
        if "=" not in word
    }
    assert named <= targets


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=page_name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    text = _FENCE.sub("", page.read_text())
    links = re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", text)
    for target in (first or second for first, second in links):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert not heading or heading in headings(file), target


def headings(page: Path) -> set[str]:
    """Names that headings have as link targets, as MkDocs and GitHub make them."""
    found = re.findall(r"^#+ (.*)$", _FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in found}


# Written in parts, so that this file does not hold what it looks for.
_SITTING = "ses" + "sion"
_REGISTRIES = ("pypi" + ".org", "python" + "hosted.org", "conda.ana" + "conda.org", "proxy.golang" + ".org")
_REGISTRIES += ("npm" + "js.org", "npm" + "js.com", "crates" + ".io")
_MACHINE_PATHS = ("/wo" + "rk/", "/ho" + "me/", "/ro" + "ot/", "/tm" + "p/")
_ITS_MAKING = tuple(f"{word} {_SITTING}" for word in ("this", "another", "previous", "earlier", "next", "helper"))
_ITS_MAKING += (f"{_SITTING} of the project", "sub" + "agent", "sub-" + "agent", "work" + "place")
_ITS_MAKING += ("the le" + "ad ", "issues" + " show", "shared/" + "DESIGN", "shared/" + "facts", "DESIGN" + ".md")
_FORBIDDEN = {
    "a package registry's host name": re.compile("|".join(map(re.escape, _REGISTRIES)), re.IGNORECASE),
    "a path of one machine": re.compile(r"(?<![\w.~/-])(" + "|".join(map(re.escape, _MACHINE_PATHS)) + ")"),
    "how it was made": re.compile("|".join(map(re.escape, _ITS_MAKING)), re.IGNORECASE),
    # Of this project's own: another's may be a source.
    "an issue's number": re.compile(r"^(?!.*github\.com/).*\bissue" + r"s? #?\d+\b", re.IGNORECASE),
}


def tracked_files() -> list[Path]:
    """Files of the repository, also those that are not committed yet."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is not a clone, so what belongs to the project is not known")
    return [path for name in listed.split("\0") if name and (path := ROOT / name).is_file()]


def text_of(path: Path) -> str:
    """A file's text; empty for one that is not text."""
    content = path.read_bytes()
    if b"\0" in content:
        return ""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return ""


@pytest.mark.parametrize("what", _FORBIDDEN)
def test_no_file_speaks_of_what_is_not_the_projects(what: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}, line {number}: {line.strip()[:120]}"
        for path in tracked_files()
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if _FORBIDDEN[what].search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("a package registry's host name", "see https://" + _REGISTRIES[0] + "/project/edgewatt"),
        ("a path of one machine", "data lies in " + _MACHINE_PATHS[0] + "shared"),
        ("how it was made", "found in a " + _ITS_MAKING[2]),
        ("an issue's number", "as " + "issue" + " 12 asks"),
    ],
)
def test_what_is_looked_for_is_found(what: str, line: str) -> None:
    assert _FORBIDDEN[what].search(line)
    assert not _FORBIDDEN[what].search("an inference session reads /proc, then homework/ and network/layers")


def section(command: str) -> str:
    """What the page says of a command."""
    parts = re.split(r"^## `edgewatt ([a-z-]+)`$", COMMAND_LINE.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True)).get(command, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_on_the_page(name: str) -> None:
    command, text = COMMANDS[name], section(name)
    assert text, f"there is no section of `edgewatt {name}`"
    options = {
        spelling
        for parameter in command.params
        for spelling in (*parameter.opts, *parameter.secondary_opts)
        if spelling.startswith("--")
    }
    documented = set(re.findall(r"^\| .*$", text, re.MULTILINE))
    listed = {spelling for row in documented for spelling in re.findall(r"`(--[a-z-]+)", row.split(" | ")[0])}
    assert listed | {"--help"} == options | {"--help"}
    arguments = [p for p in command.params if not any(spelling.startswith("-") for spelling in p.opts)]
    assert all(f"`{argument.name.upper()}`" in text for argument in arguments)


def test_no_section_is_of_a_command_that_is_gone() -> None:
    documented = re.findall(r"^## `edgewatt ([a-z-]+)`$", COMMAND_LINE.read_text(), re.MULTILINE)
    assert documented == list(COMMANDS)


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    picture = (ROOT / "docs" / "images" / "demo.svg").read_text()
    addresses = set(re.findall(r"https?://[^\s\"')<]+", picture))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert "@font-face" not in picture
    assert "@import" not in picture
    assert "SIMULATED" in picture
