"""Recordings in the base format, built by hand without the project's writers."""

from __future__ import annotations

import json
from pathlib import Path

CONV = {
    "Name": "conv0",
    "LayerType": "CaskConvolution",
    "ParameterType": "Convolution",
    "Inputs": [{"Name": "x", "Dimensions": [1, 3, 8, 8], "Format/Datatype": "Row major linear FP16 format"}],
    "Outputs": [{"Name": "y", "Dimensions": [1, 4, 8, 8], "Format/Datatype": "Row major linear FP16 format"}],
    "Kernel": [3, 3],
    "PrePadding": [1, 1],
    "PostPadding": [1, 1],
    "Stride": [1, 1],
    "Dilation": [1, 1],
    "OutMaps": 4,
    "Groups": 1,
    "Weights": {"Type": "Half", "Count": 108},
    "Bias": {"Type": "Half", "Count": 4},
}
DENSE = {
    "Name": "fc0",
    "LayerType": "CaskGemmConvolution",
    "ParameterType": "Convolution",
    "Inputs": [{"Name": "y", "Dimensions": [1, 256, 1, 1], "Format/Datatype": "Row major linear FP16 format"}],
    "Outputs": [{"Name": "z", "Dimensions": [1, 10, 1, 1], "Format/Datatype": "Row major linear FP16 format"}],
    "Kernel": [1, 1],
    "PrePadding": [0, 0],
    "PostPadding": [0, 0],
    "Stride": [1, 1],
    "Dilation": [1, 1],
    "OutMaps": 10,
    "Groups": 1,
    "Weights": {"Type": "Half", "Count": 2560},
    "Bias": {"Type": "Half", "Count": 10},
}


class RecordingBuilder:
    """Writes a recording in the base format as plain text, without the project's writers.

    Attributes:
        raw_dir: Folder of recordings.
        model: The run's name.
    """

    def __init__(self, raw_dir: Path, model: str) -> None:
        self.raw_dir, self.model = raw_dir, model
        self.folder = raw_dir / model
        (self.folder / "trt_profiling").mkdir(parents=True)
        self.log = [f"20241121-05:20:0{1 + i // 5}.{2 * (i % 5)}00000,5000.0,{1100 + 100 * i}.0" for i in range(11)]
        self.latency: object = {"conv0": [[400.0, "20241121-05:20:01.5"]], "fc0": [[800.0, "20241121-05:20:02.7"]]}
        self.engine: object = {"Layers": [CONV, DENSE], "Bindings": ["x", "z"]}
        self.idle: object = {"timestamp": "20241121-051743", "avg_idle_power": 4000000.0}

    @property
    def log_path(self) -> Path:
        return self.folder / f"{self.model}_power_log.log"

    @property
    def latency_path(self) -> Path:
        return self.folder / "trt_profiling" / "trt_layer_latency.json"

    @property
    def engine_path(self) -> Path:
        return self.folder / "trt_profiling" / "trt_engine_info.json"

    def write(self) -> RecordingBuilder:
        self.log_path.write_text("".join(f"{line}\n" for line in self.log))
        self.latency_path.write_text(json.dumps(self.latency))
        self.engine_path.write_text(json.dumps(self.engine))
        if self.idle is not None:
            (self.raw_dir / "idling_power.json").write_text(json.dumps(self.idle))
        return self
