"""The folder of predictors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgewatt.errors import FormatError
from edgewatt.networks.layer import LayerKind
from edgewatt.predictors.folder import MANIFEST, Predictors, load_predictors, write_predictors
from edgewatt.predictors.polynomial import constant
from edgewatt.predictors.storage import StoredPredictor
from edgewatt.predictors.targets import Target


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    stored = StoredPredictor(
        constant(LayerKind.DENSE, 2.0), "mean", Target.POWER, {}, 5, ("a",), {"input_size": (1.0, 9.0)}, (1.0, 3.0)
    )
    predictors = Predictors(
        {(LayerKind.DENSE, Target.POWER): stored},
        ("a",),
        holdout=("b",),
        idle_power_w=4.25,
        methods=("window",),
        left_out={"dense runtime": "no rows"},
    )
    write_predictors(tmp_path / "new" / "predictors", predictors, {"dense": {}}, "# Card\n")
    return tmp_path / "new" / "predictors"


def test_reads_back(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "card.md",
        "dense_power.json",
        "metrics.json",
        "predictors.json",
    ]
    assert [path.name for path in folder.parent.iterdir()] == ["predictors"]
    read = load_predictors(folder)
    assert (read.networks, read.holdout, read.idle_power_w, read.methods) == (("a",), ("b",), 4.25, ("window",))
    assert read.left_out == {"dense runtime": "no rows"}
    assert list(read.by_purpose) == [(LayerKind.DENSE, Target.POWER)]


def test_missing_files(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no predictors\.json"):
        load_predictors(tmp_path)
    (folder / "dense_power.json").unlink()
    with pytest.raises(FormatError, match=r"dense_power\.json: cannot be read"):
        load_predictors(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema_version": 0}, "schema version is 0"),
        ({"files": ["../dense_power.json"]}, "no predictor"),
        ({"files": "dense_power.json"}, "files"),
        ({"idle_power_w": "4"}, "idle_power_w"),
    ],
)
def test_broken_list(folder: Path, change: dict[str, object], message: str) -> None:
    content = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(content | change))
    with pytest.raises(FormatError, match=message):
        load_predictors(folder)


def test_a_file_of_another_purpose(folder: Path) -> None:
    content = json.loads((folder / MANIFEST).read_text())
    (folder / "dense_runtime.json").write_bytes((folder / "dense_power.json").read_bytes())
    (folder / MANIFEST).write_text(json.dumps(content | {"files": ["dense_runtime.json"]}))
    with pytest.raises(FormatError, match="predicts the power"):
        load_predictors(folder)
