"""Networks by name: the architectures that ship with the package, ONNX files and engines."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from pathlib import Path

from edgewatt.errors import EdgewattError, FormatError
from edgewatt.networks.layer import Layer

_ZOO = Path(__file__).parent / "zoo"
_FILE_SUFFIXES = (".json", ".onnx")


@cache
def architecture_names() -> tuple[str, ...]:
    """Names of the shipped architectures, in alphabetical order."""
    return tuple(sorted(path.stem for path in _ZOO.glob("*.onnx")))


def architecture_path(name: str) -> Path:
    """The ONNX file of a shipped architecture; its weights are inputs without data.

    Raises:
        EdgewattError: There is no architecture of that name.
    """
    if name not in architecture_names():
        close = get_close_matches(name.lower().replace("-", "_"), architecture_names(), n=3)
        listed = f"Did you mean {' or '.join(close)}? " if close else ""
        raise EdgewattError(
            f"no architecture is called {name!r}",
            fix=f"{listed}Give an ONNX file, an engine's JSON, or one of: {', '.join(architecture_names())}",
        )
    return _ZOO / f"{name}.onnx"


def network_layers(network: str | Path, *, batch: int | None = None, precision: str = "float16") -> list[Layer]:
    """The layers of a network, in execution order.

    Args:
        network: The JSON of an engine inspector, an ONNX file, or the name of a shipped architecture.
        batch: Inputs at once; None keeps the file's. An engine's batch is fixed.
        precision: The type to compute in, for a network that is not built yet; an engine has its own.

    Raises:
        EdgewattError: There is no such architecture, or an engine has another batch than asked for.
        FormatError: The file is missing or broken.
    """
    path = Path(network)
    try:
        return _found_layers(network, path, batch, precision)
    except OSError as error:
        raise EdgewattError.of_system(error) from error


def _found_layers(network: str | Path, path: Path, batch: int | None, precision: str) -> list[Layer]:
    if path.is_file() or path.suffix.lower() in _FILE_SUFFIXES:
        if not path.is_file():
            raise FormatError("there is no such file", where=path, fix="Check the path")
        return _engine_layers(path, batch) if _is_json(path) else _onnx_layers(path, batch, precision)
    if path.is_dir() and str(network) not in architecture_names():
        raise EdgewattError(
            "a folder is no network",
            where=path,
            fix="Give an ONNX file, an engine's JSON (a recording's is trt_profiling/trt_engine_info.json in it), or "
            "the name of an architecture (edgewatt layers --list)",
        )
    return _onnx_layers(architecture_path(str(network)), batch, precision)


def _is_json(path: Path) -> bool:
    if path.suffix.lower() in _FILE_SUFFIXES:
        return path.suffix.lower() == ".json"
    with path.open("rb") as file:
        return file.read(64).lstrip()[:1] in (b"{", b"[", b'"')


def _onnx_layers(path: Path, batch: int | None, precision: str) -> list[Layer]:
    from edgewatt.networks.onnx_layers import layers_from_onnx

    return layers_from_onnx(path, batch=batch, precision=precision)


def _engine_layers(path: Path, batch: int | None) -> list[Layer]:
    from edgewatt.formats.engine_info import read_engine_info
    from edgewatt.networks.engine import layers_from_engine

    layers = layers_from_engine(read_engine_info(path).layers, str(path))
    found = next((layer.batch_size for layer in layers if layer.input_shape), 1)
    if batch is not None and batch != found:
        raise EdgewattError(
            f"the engine was built for a batch of {found}, not {batch}",
            where=path,
            fix="Build an engine with that batch, or give the ONNX file",
        )
    return layers
