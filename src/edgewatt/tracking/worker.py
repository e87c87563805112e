"""The process that talks to MLflow: `python -m edgewatt.tracking.worker`.

MLflow takes seconds to import, prints on standard output, and waits for servers that are gone. In a process of its own
it starts while training goes on, and neither delays nor disturbs it. Requests and answers are JSON, a line each.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgewatt.tracking.mlflow_store import MlflowStore


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    # Whatever MLflow prints goes where its warnings go.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin, answers)


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Answer each request with what it made, or with its error.

    Args:
        requests: Lines of `{"action": ..., further arguments}`; the first is `open`.
        answers: Gets a line each: `{"done": ...}` or `{"error": "..."}`.
    """
    store: MlflowStore | None = None
    for line in requests:
        request: dict[str, Any] = json.loads(line)
        action = request.pop("action")
        try:
            if action == "open":
                store = _opened(**request)
                answer: dict[str, Any] = {"done": None}
            elif store is None:
                answer = {"error": "there is no connection"}
            else:
                work: Callable[..., Any] = getattr(store, action)
                answer = {"done": work(**request)}
        # MLflow's errors have no common kind: a database's, a network's and a cloud's own come through.
        except Exception as error:
            answer = {"error": _told(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _opened(uri: str) -> MlflowStore:
    from edgewatt.tracking.mlflow_store import MlflowStore

    return MlflowStore(uri)


def _told(error: Exception) -> str:
    """An error's first line, or its kind where it says nothing."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


if __name__ == "__main__":
    main()
