"""Commands for versions of data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgewatt.cli_output import Json, show

app = typer.Typer(name="data", help="Data sets under version control, with DVC.", no_args_is_help=True)

Remote = Annotated[
    str | None, typer.Option(help="Name, URL or path of a DVC remote; the repository's default if not given.")
]


@app.command()
def push(
    folder: Annotated[Path, typer.Argument(help="Folder of recordings, mapped networks or training tables.")],
    remote: Remote = None,
    json: Json = False,
) -> None:
    """Put a data set under version control, and copy it to a remote."""
    from edgewatt.reports.progress import progress_bar
    from edgewatt.versioning.transfer import push_data

    with progress_bar("Pushing") as step:
        step(folder.name)
        done = push_data(folder, remote)
    lines = [f"{done.contents} pushed to {done.remote}: {done.address}"]
    if done.is_new:
        lines.append(f"New DVC repository: {done.repository}")
    lines.append(f"Keep {done.pointer} and {done.repository / '.dvc' / 'config'} in git, or hand them on with the code")
    show(json, done.to_dict(), *lines)


@app.command()
def pull(
    folder: Annotated[Path, typer.Argument(help="Folder to write; FOLDER.dvc beside it says what belongs in it.")],
    remote: Remote = None,
    rev: Annotated[str | None, typer.Option(help="Commit, branch or tag of git whose FOLDER.dvc counts.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over files that were changed here.")] = False,
    json: Json = False,
) -> None:
    """Fetch a data set from a remote, and check that it is one."""
    from edgewatt.reports.progress import progress_bar
    from edgewatt.versioning.transfer import pull_data

    with progress_bar("Pulling") as step:
        step(folder.name)
        done = pull_data(folder, remote, rev=rev, force=force)
    show(json, done.to_dict(), f"{done.contents} in {done.folder}, from {done.remote}: {done.address}")
