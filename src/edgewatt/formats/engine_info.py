"""The engine inspector's JSON: `{"Layers": [...], "Bindings": [...]}`.

What a layer's entry means is `edgewatt.networks.engine`'s business; here it is only read and written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from edgewatt.errors import FormatError
from edgewatt.formats.file_kind import FileKind, advice
from edgewatt.formats.json_file import read_json, write_json
from edgewatt.networks.layer import unique_names

_LAYOUT = 'Export it with the engine inspector, or with trtexec --exportLayerInfo: {"Layers": [...], "Bindings": [...]}'


@dataclass(frozen=True)
class EngineInfo:
    """An engine as its inspector describes it.

    Attributes:
        layers: One entry a layer, in execution order; only its name (a string) where the engine was built
            without detailed profiling verbosity.
        bindings: Names of the network's inputs and outputs.
    """

    layers: tuple[Mapping[str, Any] | str, ...]
    bindings: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the layers as the engine has them; they may repeat."""
        return [entry if isinstance(entry, str) else str(entry["Name"]) for entry in self.layers]

    @property
    def unique_names(self) -> list[str]:
        """Names of the layers, told apart where they repeat."""
        return unique_names(self.names)

    @property
    def types(self) -> list[str]:
        """The backend's type of each layer; empty where it is not known."""
        return ["" if isinstance(entry, str) else str(entry.get("LayerType", "")) for entry in self.layers]

    @property
    def names_only(self) -> bool:
        """Whether the inspector told nothing but names."""
        return any(isinstance(entry, str) for entry in self.layers)


def read_engine_info(path: Path) -> EngineInfo:
    """Read an engine inspector's JSON, also one that was encoded twice or has no bindings.

    Raises:
        FormatError: The file is missing, empty, not JSON, has no layers, or a layer has no name.
    """
    value = read_json(path)
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise FormatError("holds a text that is not JSON", where=path, fix=_LAYOUT) from error
    layers = value.get("Layers") if isinstance(value, dict) else None
    if not isinstance(layers, list):
        raise FormatError(
            "is not an engine inspector's JSON: it has no list of Layers",
            where=path,
            fix=advice(path, FileKind.ENGINE_INFO, _LAYOUT),
        )
    if not layers:
        raise FormatError("the engine has no layers", where=path, fix=_LAYOUT)
    for index, entry in enumerate(layers):
        if not isinstance(entry, str) and not (isinstance(entry, dict) and isinstance(entry.get("Name"), str)):
            raise FormatError("the layer has no name", where=f"{path}, layer {index + 1}", fix=_LAYOUT)
    bindings = value.get("Bindings")
    return EngineInfo(tuple(layers), tuple(map(str, bindings)) if isinstance(bindings, list) else ())


def write_engine_info(path: Path, info: EngineInfo) -> None:
    """Write an engine inspector's JSON, whole or not at all."""
    write_json(path, {"Layers": list(info.layers), "Bindings": list(info.bindings)})
