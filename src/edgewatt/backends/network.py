"""The network that a user named, as a file that a backend can load."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.networks.architectures import architecture_path

#: Endings of serialized TensorRT engines.
ENGINE_SUFFIXES = (".engine", ".plan", ".trt")


@dataclass(frozen=True)
class Network:
    """A network to run.

    Attributes:
        name: What its recording is called unless told otherwise.
        path: Its file.
        kind: `onnx`, `engine` (a serialized TensorRT engine), or `layers` (an engine inspector's JSON, which only the
            simulated backend can run).
        random_weights: Whether the file has no weights: they are then drawn when it is loaded.
    """

    name: str
    path: Path
    kind: Literal["onnx", "engine", "layers"]
    random_weights: bool = False


def find_network(network: str | Path) -> Network:
    """Find the network that a user named.

    Args:
        network: The name of a shipped architecture, or an ONNX file, a serialized engine or an inspector's JSON.

    Raises:
        EdgewattError: There is no such architecture, or the file is of no known kind.
        FormatError: There is no such file.
    """
    path = Path(network)
    suffix = path.suffix.lower()
    if suffix not in (".onnx", ".json", *ENGINE_SUFFIXES) and not path.is_file():
        return Network(path.name, architecture_path(str(network)), "onnx", random_weights=True)
    if not path.is_file():
        raise FormatError("there is no such file", where=path, fix="Check the path")
    if suffix == ".onnx":
        return Network(path.stem, path, "onnx")
    if suffix in ENGINE_SUFFIXES:
        return Network(path.stem, path, "engine")
    if suffix == ".json":
        return Network(path.stem, path, "layers")
    raise EdgewattError(
        f"a file that ends in {suffix or 'nothing'} is no network that can be run",
        where=path,
        fix=f"Give the name of an architecture, an .onnx file, or an engine ({', '.join(ENGINE_SUFFIXES)})",
    )
