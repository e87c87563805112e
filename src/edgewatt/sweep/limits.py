"""What a board can hold: layers beyond it are not drawn."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from edgewatt.errors import EdgewattError
from edgewatt.sweep.single import SingleLayer

#: The module that is simulated has 8 GB (NVIDIA, Jetson Orin Nano series data sheet).
SIMULATED_MEMORY_BYTES = 8 * 10**9
#: Share of the memory that one layer may take: a builder holds it several times, and so do copies of it.
_SHARE = 1 / 8
#: A layer of more work than this would be measured for minutes on a slow board; the largest of the shipped
#: architectures, of VGG, has 1.85e9.
_MOST_MACS = 4 * 10**9
_BYTES = 4  # float32, whatever it computes in: builders begin with that


@dataclass(frozen=True)
class Limits:
    """What a layer may take.

    Attributes:
        memory_bytes: Memory of the board.
        macs: Multiply-accumulates of a layer, at most.
    """

    memory_bytes: int
    macs: int = _MOST_MACS

    @property
    def layer_bytes(self) -> int:
        """Bytes of a layer's weights, inputs and outputs in float32, at most."""
        return int(self.memory_bytes * _SHARE)

    def admit(self, layer: SingleLayer) -> bool:
        """Whether a layer may be drawn: its window fits its input, and the board holds it."""
        span = [d * (k - 1) + 1 for k, d in zip(layer.kernel, layer.dilation, strict=True)]
        fits = layer.operation == "gemm" or all(
            size <= extent for size, extent in zip(span, layer.input_shape[2:], strict=True)
        )
        if not fits or min(layer.output_shape) < 1:
            return False
        return layer.elements * _BYTES <= self.layer_bytes and layer.macs <= self.macs


def memory_bytes(root: Path) -> int:
    """Memory of this machine.

    Args:
        root: Folder that /proc is read below.

    Raises:
        EdgewattError: It does not tell.
    """
    path = root / "proc" / "meminfo"
    try:
        found = re.search(r"^MemTotal:\s+(\d+) kB", path.read_text(), re.MULTILINE)
    except OSError as error:
        raise EdgewattError.of_system(error) from error
    if found is None:
        raise EdgewattError("it does not tell how much memory there is", where=path)
    return int(found[1]) * 1024
