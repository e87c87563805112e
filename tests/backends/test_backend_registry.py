from __future__ import annotations

from pathlib import Path

import pytest

from edgewatt.backends.base import Backend, LoadedNetwork, LoadSettings, Problem
from edgewatt.backends.network import Network, find_network
from edgewatt.backends.registry import BACKENDS, choose_backend
from edgewatt.errors import EdgewattError, FormatError, NoDeviceError


class _Tensorrt(Backend):
    name = "tensorrt"

    def __init__(self, problem: Problem | None) -> None:
        self._problem = problem

    def problem(self) -> Problem | None:
        return self._problem

    def load(self, network: Network, settings: LoadSettings) -> LoadedNetwork:
        raise NotImplementedError


def test_tensorrt_is_chosen_where_it_can_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, "tensorrt", lambda: _Tensorrt(None))
    assert choose_backend().name == "tensorrt"


def test_onnx_runtime_is_chosen_without_tensorrt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, "tensorrt", lambda: _Tensorrt(Problem("there is no GPU", "buy one")))
    assert choose_backend().name == "onnxruntime"


def test_a_named_backend_that_cannot_be_used_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, "tensorrt", lambda: _Tensorrt(Problem("there is no GPU", "buy one")))
    with pytest.raises(NoDeviceError, match=r"tensorrt cannot be used here: there is no GPU. buy one") as raised:
        choose_backend("tensorrt")
    assert raised.value.exit_status == 3


def test_an_unknown_backend_lists_the_known_ones() -> None:
    with pytest.raises(EdgewattError, match=r"no backend 'openvino'. Use one of: tensorrt, .*onnxruntime") as raised:
        choose_backend("openvino")
    assert raised.value.exit_status == 2


def test_names_are_taken_with_dashes_and_capitals() -> None:
    assert choose_backend("ONNXRuntime").name == "onnxruntime"


def test_every_backend_can_be_made_without_its_library() -> None:
    assert [make().name for make in BACKENDS.values()] == list(BACKENDS)


def test_a_network_is_an_architecture_or_a_file(tmp_path: Path) -> None:
    for name in ("net.onnx", "net.engine", "net.json"):
        (tmp_path / name).touch()
    lenet = find_network("lenet")
    assert (lenet.name, lenet.kind, lenet.random_weights) == ("lenet", "onnx", True)
    found = [find_network(tmp_path / name) for name in ("net.onnx", "net.engine", "net.json")]
    assert [(network.name, network.kind, network.random_weights) for network in found] == [
        ("net", "onnx", False),
        ("net", "engine", False),
        ("net", "layers", False),
    ]


def test_an_unknown_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EdgewattError, match="no architecture is called 'resnet19'"):
        find_network("resnet19")
    with pytest.raises(FormatError, match="no such file"):
        find_network(tmp_path / "gone.onnx")
    (tmp_path / "net.txt").touch()
    with pytest.raises(EdgewattError, match=r"ends in \.txt"):
        find_network(tmp_path / "net.txt")
