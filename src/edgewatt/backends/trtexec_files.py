"""The files that `trtexec` exports, as its backend needs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edgewatt.formats.engine_info import EngineInfo, read_engine_info
from edgewatt.formats.trtexec_profile import LayerProfile, read_profile
from edgewatt.formats.trtexec_times import read_inference_times

__all__ = ["LayerProfile", "read_layer_info", "read_profile", "read_times"]


def read_times(path: Path) -> NDArray[np.float64]:
    """Read what `--exportTimes` wrote.

    Returns:
        Start and end of each inference on the GPU in ms since trtexec started, shape (inferences, 2).

    Raises:
        FormatError: The file is missing, empty or not of this format.
    """
    return read_inference_times(path).compute_ms


def read_layer_info(path: Path) -> EngineInfo:
    """Read what `--exportLayerInfo` wrote: the engine inspector's JSON.

    Raises:
        FormatError: The file is missing or not of this format.
    """
    return read_engine_info(path)
