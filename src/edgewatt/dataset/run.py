"""Training tables of many networks, from preprocessed_data/ to training_data/."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import edgewatt
from edgewatt.batch import Batch, Made, run_tasks
from edgewatt.dataset.network import network_info
from edgewatt.dataset.tables import LeftOut, NetworkTables, build_tables
from edgewatt.errors import EdgewattError, FormatError
from edgewatt.formats.conditions import Condition, KnownRun, RunChoice, chosen, refuse_mixture
from edgewatt.formats.folders import refuse_same_folder, replacing_folder
from edgewatt.formats.layer_metrics import FILE_NAME as METRICS_FILE
from edgewatt.formats.layer_power import FILE_NAME as LAYER_POWER_FILE
from edgewatt.formats.made_from import MadeFrom, file_digests, made_already, visible_files, write_made_from
from edgewatt.formats.mapping_info import FILE_NAME as MAPPING_FILE
from edgewatt.formats.mapping_info import read_mapping_info
from edgewatt.formats.network_info import FILE_NAME as NETWORK_FILE
from edgewatt.formats.network_info import write_network_info
from edgewatt.formats.run_folders import RunFolder, chosen_runs, run_folders
from edgewatt.formats.training_tables import read_table, table_path, write_tables
from edgewatt.formats.unfinished import finish_unfinished
from edgewatt.networks.layer import LayerKind
from edgewatt.workers.identity import source_digest
from edgewatt.workers.places import open_place

#: Networks whose tables are made in the time that it takes to start worker processes.
_FEW = 100


def build_dataset(
    preprocessed_dir: Path,
    training_dir: Path,
    *,
    min_samples: int = 10,
    models: Sequence[str] = (),
    jobs: int | None = None,
    scheduler: str | None = None,
    redo: bool = False,
    choice: RunChoice | None = None,
    progress: Callable[[str], None] | None = None,
) -> Batch[NetworkTables]:
    """Build and write the training tables of the networks of a folder, going on after one that is broken.

    Files are the same wherever the work is done. Tables that were made already, from the same files with the same
    settings by the same edgewatt, are not made again.

    Args:
        preprocessed_dir: Folder of mapped networks.
        training_dir: Folder to write to; one folder a network, in folders of boards where the mapped networks are.
        min_samples: A layer with fewer power values is left out and listed.
        models: Names of the networks wanted, `model` or `board/model`; all, when empty.
        jobs: Networks at once, each in a process of its own; when None, as many as there are cores, or one where that
            is as fast.
        scheduler: Address of a Dask scheduler, whose workers do the work.
        redo: Make again what was made already.
        choice: Which boards and power modes; one of each in a folder where nothing is said.
        progress: Called with each network's name when its turn comes.

    Raises:
        EdgewattError: There is no mapped network, a named one is missing, one folder mixes boards or power modes, or
            the cluster cannot be used.
    """
    refuse_same_folder(preprocessed_dir, training_dir)
    folders = _of_choice(_find_folders(preprocessed_dir, models), choice or RunChoice(), preprocessed_dir)
    written = {training_dir / folder.board for folder in folders}
    for folder in written:
        finish_unfinished(folder)
    tasks = [_Task(folder.path, training_dir / folder.name, folder.name, min_samples, redo) for folder in folders]
    if jobs is None and scheduler is None and _is_small([folder.path for folder in folders]):
        jobs = 1
    with open_place(jobs=jobs, scheduler=scheduler, tasks=len(tasks)) as place:
        place.check_folders([preprocessed_dir], [training_dir])
        batch = run_tasks(tasks, lambda task: task.name, _build_task, place, progress)
    # A worker may have been killed meanwhile.
    for folder in written:
        finish_unfinished(folder)
    return batch


@dataclass(frozen=True)
class _Task:
    """What is to be done with one network.

    Attributes:
        mapped: Its preprocessed folder.
        folder: The folder to write to.
        name: The run's name, behind that of its board's folder where it lies in one.
        min_samples: As for `build_dataset`.
        redo: Whether to do it again.
    """

    mapped: Path
    folder: Path
    name: str
    min_samples: int
    redo: bool


def _build_task(task: _Task) -> Made[NetworkTables]:
    made_from = _made_from(task)
    if not task.redo and (found := made_already(task.folder, made_from)) is not None:
        return Made(_read_tables(task, found), already=True)
    built = build_tables(task.mapped, task.min_samples)
    told = {
        "time_share": {kind.value: share for kind, share in built.time_share.items()},
        "left_out": [asdict(layer) for layer in built.left_out],
    }
    with replacing_folder(task.folder, keep_others=True) as beside:
        write_tables(beside, built.tables)
        whole = network_info(task.mapped, built)
        if whole is not None:
            write_network_info(beside / NETWORK_FILE, whole)
        write_made_from(beside, made_from.model_copy(update={"told": told}), list(beside.iterdir()))
    return Made(replace(built, model=task.name), already=False)


def _made_from(task: _Task) -> MadeFrom:
    """What the tables depend on: all files of the mapped network, but single cycles where their summary is there."""
    files = visible_files(task.mapped)
    if (task.mapped / LAYER_POWER_FILE).exists():
        files = [file for file in files if file.name != METRICS_FILE]
    return MadeFrom(
        edgewatt_version=edgewatt.__version__,
        source=source_digest(),
        settings={"min_samples": task.min_samples},
        inputs=file_digests(task.mapped, files),
    )


def _read_tables(task: _Task, made: MadeFrom) -> NetworkTables:
    """What an earlier run built, from its files."""
    return NetworkTables(
        model=task.name,
        tables={kind: read_table(table_path(task.folder, kind), kind) for kind in LayerKind},
        time_share={kind: made.told["time_share"][kind.value] for kind in LayerKind},
        left_out=[LeftOut(**layer) for layer in made.told["left_out"]],
    )


def _is_small(folders: Sequence[Path]) -> bool:
    """Whether all is done before worker processes would have started; older folders hold every cycle of every layer."""
    return len(folders) < _FEW and all((folder / LAYER_POWER_FILE).exists() for folder in folders)


def _find_folders(preprocessed_dir: Path, models: Sequence[str]) -> list[RunFolder]:
    found = {run.name: run for run in run_folders(preprocessed_dir, "map", _is_mapped)}
    if not found:
        raise EdgewattError("the folder holds no mapped network", where=preprocessed_dir, fix="Run `edgewatt map`")
    return chosen_runs(found, models, "mapped network", preprocessed_dir)


def _is_mapped(folder: Path) -> bool:
    return (folder / LAYER_POWER_FILE).exists() or (folder / METRICS_FILE).exists()


def _of_choice(folders: Sequence[RunFolder], choice: RunChoice, where: Path) -> list[RunFolder]:
    """The runs that are meant; boards in folders of their own stay apart, and are no mixture."""
    conditions = {folder.name: _condition(folder.path) for folder in folders}
    runs = [KnownRun(name, condition) for name, condition in conditions.items() if condition is not None]
    kept = chosen(runs, choice, where) if runs else []
    for board in dict.fromkeys(run.folder for run in kept):
        refuse_mixture([run for run in kept if run.folder == board], choice, where / board)
    names = {run.name for run in kept}
    return [folder for folder in folders if folder.name in names or conditions[folder.name] is None]


def _condition(mapped: Path) -> Condition | None:
    """What a mapped network was recorded on; None where its description is broken, which is told at its turn."""
    if not (mapped / MAPPING_FILE).exists():
        return Condition()
    try:
        return Condition.of(read_mapping_info(mapped / MAPPING_FILE).run)
    except FormatError:
        return None
