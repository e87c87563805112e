"""The DVC repository that a folder of data belongs to."""

from __future__ import annotations

from pathlib import Path

from edgewatt.versioning.dvc import Dvc, check_dvc


def found_repository(folder: Path) -> Path | None:
    """The repository around a folder, the folder itself left out; None where there is none."""
    return next((above for above in folder.parents if (above / ".dvc").is_dir()), None)


def repository_of(folder: Path) -> tuple[Dvc, bool]:
    """The repository around a folder; one is made where there is none.

    A new one is made at the top of the git repository, or without git in the folder's parent. Its configuration
    says that DVC reports to nobody.

    Args:
        folder: Absolute.

    Returns:
        The repository, and whether it is new.

    Raises:
        EdgewattError: DVC is not installed or refuses.
    """
    check_dvc()
    found, top = found_repository(folder), git_top(folder)
    root = found or top or folder.parent
    init = [["init", *(["--no-scm"] if top is None else [])], ["config", "core.analytics", "false"]]
    listed = Dvc(root).run(*(init if found is None else []), ["config", "--list"])
    settings = dict(line.partition("=")[::2] for line in listed.splitlines() if "=" in line)
    return Dvc(root, settings), found is None


def git_top(folder: Path) -> Path | None:
    """The top of the git repository around a folder; None where there is none."""
    return next((above for above in folder.parents if (above / ".git").exists()), None)
