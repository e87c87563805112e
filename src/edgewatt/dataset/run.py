"""Training tables of many networks, from preprocessed_data/ to training_data/."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from edgewatt.batch import Batch, run_batch
from edgewatt.dataset.network import network_info
from edgewatt.dataset.tables import NetworkTables, build_tables
from edgewatt.errors import EdgewattError
from edgewatt.formats.folders import network_folders, replacing_folder
from edgewatt.formats.layer_metrics import FILE_NAME as METRICS_FILE
from edgewatt.formats.layer_power import FILE_NAME as LAYER_POWER_FILE
from edgewatt.formats.network_info import FILE_NAME as NETWORK_FILE
from edgewatt.formats.network_info import write_network_info
from edgewatt.formats.training_tables import write_tables


def build_dataset(
    preprocessed_dir: Path,
    training_dir: Path,
    *,
    min_samples: int = 10,
    models: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Batch[NetworkTables]:
    """Build and write the training tables of the networks of a folder, going on after one that is broken.

    Args:
        preprocessed_dir: Folder of mapped networks.
        training_dir: Folder to write to; one folder a network.
        min_samples: A layer with fewer power values is left out and listed.
        models: Names of the networks wanted; all, when empty.
        progress: Called with each network's name before its turn.

    Raises:
        EdgewattError: There is no mapped network, or a named one is missing.
    """

    def build(folder: Path) -> NetworkTables:
        built = build_tables(folder, min_samples)
        with replacing_folder(training_dir / built.model, keep_others=True) as beside:
            write_tables(beside, built.tables)
            whole = network_info(folder, built)
            if whole is not None:
                write_network_info(beside / NETWORK_FILE, whole)
        return built

    folders = _find_folders(preprocessed_dir, models)
    return run_batch(folders, lambda folder: folder.name, build, progress)


def _find_folders(preprocessed_dir: Path, models: Sequence[str]) -> list[Path]:
    folders = {
        folder.name: folder
        for folder in network_folders(preprocessed_dir, "map")
        if (folder / LAYER_POWER_FILE).exists() or (folder / METRICS_FILE).exists()
    }
    if not folders:
        raise EdgewattError("the folder holds no mapped network", where=preprocessed_dir, fix="Run `edgewatt map`")
    missing = [name for name in models if name not in folders]
    if missing:
        raise EdgewattError(
            f"no mapped network {', '.join(missing)}",
            where=preprocessed_dir,
            fix=f"There are: {', '.join(folders)}",
        )
    return [folders[name] for name in models] if models else list(folders.values())
