"""One layer of the engine inspector's JSON: checked access to its keys, its tensors and the operations in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from edgewatt.errors import FormatError, warn
from edgewatt.networks.element_types import element_type, elements_bytes, tensor_bytes

# \x1e separates the operations of a layer, \x1f those inside of a Myelin region.
_SEPARATOR = re.compile(r"[\x1e\x1f]+|(?<=\])\s*(?=\[ONNX Layer: )")
_ONNX_LAYER = re.compile(r"\[ONNX Layer: (.*)\]\s*$", re.DOTALL)


@dataclass(frozen=True)
class EngineTensor:
    """A tensor that a layer reads or writes.

    Attributes:
        name: Its name in the engine.
        shape: Logical dimensions, whatever the memory format.
        type: Element type, a key of `ELEMENT_BITS`.
    """

    name: str
    shape: tuple[int, ...]
    type: str

    @property
    def bytes(self) -> int:
        """Bytes of its elements, without a format's padding."""
        return tensor_bytes(self.shape, self.type)


class EngineRecord:
    """A layer's dictionary, with keys that differ between versions behind one name.

    Args:
        entry: The decoded dictionary.
        index: Its position in the engine, for messages about a layer without a name.
        where: The file that it came from.

    Attributes:
        name: The layer's name, as the engine has it.
        parameter_type: The inspector's ParameterType; empty where there is none.
        layer_type: The inspector's LayerType; empty where there is none.

    Raises:
        FormatError: It is not a dictionary or has no name.
    """

    def __init__(self, entry: Any, index: int, where: str) -> None:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("Name"), str):
            raise FormatError(
                f"layer {index + 1} is not an object with a Name",
                where=where,
                fix="Export the engine's layer information again, with detailed profiling verbosity",
            )
        self._entry = entry
        self.name: str = entry["Name"]
        self.parameter_type = str(entry.get("ParameterType") or "")
        self.layer_type = str(entry.get("LayerType") or "")
        self.where = f"{where}, layer {self.name!r}"

    def get(self, key: str) -> Any:
        """The value of a key, or of the same key of a fused convolution (`ConvKernel` for `Kernel`); else None."""
        prefixed = f"Conv{key}"
        return self._entry[prefixed] if prefixed in self._entry else self._entry.get(key)

    def has(self, *keys: str) -> bool:
        """Whether any of the keys is there, exactly as written."""
        return any(self._entry.get(key) is not None for key in keys)

    @property
    def has_window(self) -> bool:
        """Whether a convolution's window is told."""
        return self.has("Kernel", "ConvKernel")

    @property
    def is_transposed(self) -> bool:
        """Whether a convolution is a transposed one; its ParameterType may say just "Convolution"."""
        return "deconvolution" in (self.parameter_type + self.layer_type).lower()

    @property
    def padding_mode(self) -> str:
        """The PaddingMode in upper case."""
        return str(self.get("PaddingMode") or "").upper()

    @cached_property
    def inputs(self) -> tuple[EngineTensor, ...]:
        """Tensors read; none for layers that only run on the host."""
        return self._tensors("Inputs")

    @cached_property
    def outputs(self) -> tuple[EngineTensor, ...]:
        """Tensors written."""
        return self._tensors("Outputs")

    def _tensors(self, key: str) -> tuple[EngineTensor, ...]:
        tensors = self._entry.get(key) or []
        if not isinstance(tensors, Sequence) or not all(isinstance(t, Mapping) for t in tensors):
            raise FormatError(f"{key} is not a list of tensors", where=self.where)
        return tuple(self._tensor(tensor) for tensor in tensors)

    def _tensor(self, tensor: Mapping[str, Any]) -> EngineTensor:
        name, shape = str(tensor.get("Name", "")), self._integers(tensor.get("Dimensions"), "Dimensions")
        if any(size < 0 for size in shape):
            raise FormatError(
                f"tensor {name!r} has dynamic dimensions {list(shape)}",
                where=self.where,
                fix="Set the execution context's input shapes and give that context to the inspector before exporting",
            )
        wording = str(tensor.get("Format/Datatype") or tensor.get("Datatype") or tensor.get("Format") or "")
        found = element_type(wording)
        if found is None:
            warn(f"element type {wording!r} is not known; its elements count as 4 bytes each", where=self.where)
        return EngineTensor(name, shape, found or "float32")

    def _integers(self, value: Any, key: str) -> tuple[int, ...]:
        if not isinstance(value, Sequence) or not all(type(item) is int for item in value):
            raise FormatError(
                f"{key} is not a list of whole numbers: {value!r}",
                where=self.where,
                fix="Export the engine's layer information again",
            )
        return tuple(value)

    def integers(self, key: str, *alternatives: str) -> tuple[int, ...]:
        """A list of whole numbers, empty where none of the keys is there."""
        for name in (key, *alternatives):
            value = self.get(name)
            if value is not None:
                return self._integers(value, name)
        return ()

    def integer(self, key: str, default: int) -> int:
        """A whole number of at least one, `default` where the key is missing."""
        value = self.get(key)
        if value is None:
            return default
        if type(value) is not int or value < 1:
            raise FormatError(f"{key} is not a positive whole number: {value!r}", where=self.where)
        return value

    def counted(self, key: str) -> tuple[int, str | None]:
        """Number and type of elements of "Weights" or "Bias": (0, None) where there are none."""
        value = self.get(key)
        if not isinstance(value, Mapping) or type(value.get("Count")) is not int or value["Count"] < 1:
            return 0, None
        wording = str(value.get("Type", ""))
        found = element_type(wording)
        if found is None:
            warn(f"type {wording!r} of {key} is not known; its elements count as 4 bytes each", where=self.where)
        return value["Count"], found or "float32"

    def common_fields(
        self,
        activations: Sequence[EngineTensor] | None = None,
        constants: Sequence[EngineTensor] | None = None,
    ) -> dict[str, Any]:
        """What every kind of layer has: precision, bytes, parameters and fused operations.

        Args:
            activations: The inputs that are activations; None for all.
            constants: Inputs that are weights or biases, weights first, beside those that `Weights` and `Bias` tell.
        """
        read = self.inputs if activations is None else activations
        counts = [(count, kind) for count, kind in map(self.counted, ("Weights", "Bias")) if kind is not None]
        counts += [(prod(tensor.shape), tensor.type) for tensor in constants or ()]
        sources = [kind for _, kind in counts] or [tensor.type for tensor in (*read, *self.outputs)]
        return {
            "precision": sources[0] if sources else "float32",
            "weight_bytes": sum(elements_bytes(count, kind) for count, kind in counts),
            "input_bytes": sum(tensor.bytes for tensor in read),
            "output_bytes": sum(tensor.bytes for tensor in self.outputs),
            "parameters": sum(count for count, _ in counts),
            "fused": self.fused,
            "backend_type": self.layer_type,
        }

    @cached_property
    def operations(self) -> tuple[str, ...]:
        """Names of the ONNX operations in the layer's metadata, in order and without repetition."""
        metadata = self._entry.get("Metadata")
        parts = _SEPARATOR.split(metadata) if isinstance(metadata, str) else []
        matches = (_ONNX_LAYER.search(part) for part in parts)
        return tuple(dict.fromkeys(match.group(1) for match in matches if match))

    @property
    def fused(self) -> tuple[str, ...]:
        """Names of the fused operations: those in the metadata, else the parts of the layer's name."""
        return self.operations or tuple(re.split(r" \+ | \|\| ", self.name))

    @property
    def operation(self) -> str:
        """What a layer without window or matrix does, in lower case and without the version of its kernel."""
        word = self.parameter_type or self.layer_type or "unknown"
        return re.sub(r"v\d+$", "", word.lower())
