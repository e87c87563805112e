"""Runs `edgewatt` and Python text in processes that need not import anything: copies of one that has.

    bash ── edgewatt (the script beside this one's socket) ──┐ arguments, folder, environment, standard streams
    test ── run_python() ─────────────────────────────────── ┴─> server ── fork ──> child: runs, ends ──> exit status

Most of the time of a small command is spent on imports; a page of documentation holds a dozen of them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import shlex
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

from typing_extensions import Self

# It only imports what the interpreter has at hand, and not the site's packages.
_SCRIPT = """\
#!{python} -ISE
import json, os, socket, sys
link = socket.socket(socket.AF_UNIX)
link.connect({address!r})
request = {{"arguments": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
socket.send_fds(link, [json.dumps(request).encode() + b"\\n"], [0, 1, 2])
status = link.recv(8)
sys.exit(int(status) if status else 70)
"""
_LARGEST = 1 << 20
_WITHOUT_STATUS = 70


class WarmProcesses:
    """The server, and how to use it; a context manager.

    Args:
        folder: An empty folder, whose path is short enough for a socket's. It gets `bin/edgewatt`.
    """

    def __init__(self, folder: Path) -> None:
        self._address = str(folder / "socket")
        self.commands = folder / "bin"
        self.commands.mkdir(parents=True)
        script = self.commands / "edgewatt"
        script.write_text(_SCRIPT.format(python=sys.executable, address=self._address))
        script.chmod(0o755)
        self._server = subprocess.Popen([sys.executable, __file__, self._address], start_new_session=True)

    def __enter__(self) -> Self:
        until = time.monotonic() + 120
        while not Path(self._address).exists():
            assert self._server.poll() is None, "the server of warm processes has ended"
            assert time.monotonic() < until, "the server of warm processes does not answer"
            time.sleep(0.02)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.terminate()
        self._server.wait()

    def environment(self) -> dict[str, str]:
        """The environment in which a shell finds the warm `edgewatt`, and this Python."""
        path = os.pathsep.join((str(self.commands), str(Path(sys.executable).parent), os.environ["PATH"]))
        return {**os.environ, "PATH": path}

    def run_shell(self, text: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run lines of a shell that stops at the first error."""
        command = ["bash", "-euo", "pipefail", "-c", text]
        return subprocess.run(command, cwd=folder, env=self.environment(), capture_output=True, text=True, check=False)

    def run_python(self, text: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a program in Python."""
        return self.run_shell(f"edgewatt --run-python {shlex.quote(text)}", folder)


def _import_all() -> None:
    import edgewatt

    for module in pkgutil.walk_packages(edgewatt.__path__, "edgewatt."):
        if module.name.rpartition(".")[2] not in ("__main__", "worker"):
            importlib.import_module(module.name)
    for heavy in ("onnx", "onnxruntime", "plotly.graph_objects", "rich.console", "rich.table", "sklearn.ensemble"):
        importlib.import_module(heavy)


def _serve(address: str) -> None:
    _import_all()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address + ".new")
    listener.listen(16)
    os.rename(address + ".new", address)  # noqa: PTH104  # the socket is there once it can be used
    while True:
        link, _ = listener.accept()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        if os.fork() == 0:
            listener.close()
            _answer(link)
            os._exit(0)
        link.close()


def _answer(link: socket.socket) -> None:
    """Run what is asked for in a child, and send its exit status."""
    content, streams, _, _ = socket.recv_fds(link, _LARGEST, 3)
    while not content.endswith(b"\n"):
        content += link.recv(_LARGEST)
    child = os.fork()
    if child == 0:
        link.close()
        _become(json.loads(content), streams)
    _, ended = os.waitpid(child, 0)
    status = os.waitstatus_to_exitcode(ended)
    link.sendall(str(status if status >= 0 else 128 - status).encode())


def _become(request: dict[str, Any], streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    # What Python made of the server's own streams does not fit other kinds of files.
    encoding, _, errors = request["environment"].get("PYTHONIOENCODING", "").partition(":")
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=encoding or None, errors=errors or None, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    status = _WITHOUT_STATUS
    try:
        status = _run(request["arguments"])
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["--run-python"]:
        sys.argv = ["-c"]
        exec(compile(arguments[1], "<block>", "exec"), {"__name__": "__main__"})
        return 0
    from edgewatt.cli import main

    sys.argv = ["edgewatt", *arguments]
    main()
    return 0


if __name__ == "__main__":
    _serve(sys.argv[1])
