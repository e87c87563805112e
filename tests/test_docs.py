"""The documentation does what it says: its commands run, its links lead somewhere, its page of commands is complete."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from edgewatt.cli import app
from warm_processes import WarmProcesses

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Its blocks are the cells of one notebook, which has a test of its own.
TUTORIAL = ROOT / "docs" / "tutorial.md"
RUN_PAGES = [page for page in PAGES if page != TUTORIAL]
COMMAND_LINE = ROOT / "docs" / "command-line.md"

# Blocks of these lines alone are not run: they install, or take minutes.
_NOT_RUN = re.compile(r"(make|git clone|(python3? -m )?pip install)( |$)")
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# Examples are cut short below these keys.
_MAY_BE_CUT = frozenset({"metrics"})


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


def steps(block: Block) -> list[str]:
    """What of a block runs by itself: each line of one that only holds commands of edgewatt, else all of it."""
    if block.language == "bash" and all(line.startswith("edgewatt ") and line[-1] != "\\" for line in block.lines):
        return block.lines
    return [block.text]


def places(page: Path) -> list[str]:
    """A name for each step of a page: steps of the same name follow on the same steps, so they do the same."""
    names = [""]
    for block in blocks(page):
        if block.runs:
            for step in steps(block):
                names.append(hashlib.sha256(f"{names[-1]}\0{block.language}\0{step}".encode()).hexdigest())
    return names[1:]


@dataclass(frozen=True)
class Ran:
    """What a step did."""

    status: int
    output: str
    errors: str


@dataclass(frozen=True)
class SharedSteps:
    """Steps that several pages begin with are run once, by whichever process of the tests comes first."""

    folder: Path
    names: frozenset[str]

    def once(self, name: str, scratch: Path, run: Callable[[], Ran]) -> Ran:
        """Run a step in `scratch`, or put there what another page's left."""
        if name not in self.names:
            return run()
        kept = self.folder / name
        with (self.folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                ran = run()
                # A step that fails is not kept: its page tells of it, and so does the next.
                if ran.status == 0:
                    shutil.copytree(scratch, kept / "scratch", symlinks=True)
                    (kept / "output").write_text(ran.output)
                return ran
        shutil.rmtree(scratch)
        shutil.copytree(kept / "scratch", scratch, symlinks=True)
        return Ran(0, (kept / "output").read_text(), "")


@pytest.fixture(scope="session")
def shared_steps(tmp_path_factory: pytest.TempPathFactory) -> SharedSteps:
    # The workers of a parallel run have folders beside each other.
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared-steps"
    folder.mkdir(exist_ok=True)
    pages_of = Counter(name for page in RUN_PAGES for name in set(places(page)))
    return SharedSteps(folder, frozenset(name for name, pages in pages_of.items() if pages > 1))


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """An empty folder, with the repository's scripts where a clone has them."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    for name in ("benchmarks", "tools"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.mark.parametrize("page", RUN_PAGES, ids=page_name)
def test_every_block_runs(page: Path, scratch: Path, shared_steps: SharedSteps, warm: WarmProcesses) -> None:
    names = iter(places(page))
    output = ""
    for block in blocks(page):
        if block.language == "json" and output.lstrip().startswith("{"):
            assert_same_layout(json.loads(block.text), json.loads(output), f"{page.name}, line {block.line}")
        output = ""
        if not block.runs:
            continue
        run = warm.run_python if block.language == "python" else warm.run_shell
        for step in steps(block):

            def run_step(step: str = step, run: Callable[[str, Path], Any] = run) -> Ran:
                done = run(step, scratch)
                return Ran(done.returncode, done.stdout, done.stderr)

            ran = shared_steps.once(next(names), scratch, run_step)
            assert ran.status == 0, f"{page.name}, line {block.line}:\n{step}\n{ran.output}\n{ran.errors}"
            output = ran.output


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


def test_the_page_of_commands_says_what_their_help_says() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "command_line_page.py"))
    page = COMMAND_LINE.read_text()
    assert page == made["updated"](page, made["commands"](app)), "out of date: make docs brings it up to date"


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    picture = (ROOT / "docs" / "images" / "demo.svg").read_text()
    addresses = set(re.findall(r"https?://[^\s\"')<]+", picture))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert "@font-face" not in picture
    assert "@import" not in picture
    assert "SIMULATED" in picture
