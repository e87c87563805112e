"""Recordings to test on, built by hand, and real files where they are there."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from recording_builder import RecordingBuilder
from warm_processes import WarmProcesses

# How long an example takes depends on what else the machine does.
settings.register_profile("edgewatt", deadline=None)
settings.load_profile("edgewatt")

_DATA = Path(__file__).parents[1].parent / "shared" / "data"


#: Modules whose tests take longest: they are run first, so that no worker is left with them at the end.
_LONG = frozenset({"test_docs.py", "test_tracking_mlflow.py", "test_docs_tutorial.py", "test_real_layers.py"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long tests first; all workers of a parallel run have the same order."""
    items.sort(key=lambda item: item.path.name not in _LONG)


@pytest.fixture(scope="session", autouse=True)
def _signals_as_usual() -> None:
    """Undo what a shell does to its background jobs: a signal that is ignored stays ignored in every child."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmProcesses]:
    """Processes that run `edgewatt` and Python at once, for they have imported everything."""
    # Not in pytest's folder: the path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="edgewatt-") as folder, WarmProcesses(Path(folder)) as processes:
        yield processes


@pytest.fixture(scope="module")
def warm_command(request: pytest.FixtureRequest, warm: WarmProcesses) -> Iterator[None]:
    """Lets a module's `COMMAND` be one that need not import everything anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request.module, "COMMAND", warm.commands / "edgewatt")
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of really measured files, which is not part of the project."""
    if not _DATA.is_dir():
        pytest.skip("the folder of measured files is not there")
    return _DATA


@pytest.fixture
def builder(tmp_path: Path) -> Callable[[str], RecordingBuilder]:
    """Makes builders of recordings below `tmp_path / "raw"`, two layers and one cycle unless changed."""
    return lambda model="net": RecordingBuilder(tmp_path / "raw", model)
