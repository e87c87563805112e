"""Stands in for trtexec: takes its options, prints lines as it does, and writes files like those that it exports."""

import json
import os
import sys
import time
from pathlib import Path

_ALWAYS = ("onnx", "saveEngine", "loadEngine", "iterations", "duration", "warmUp", "noDataTransfers", "help")
_ALWAYS += ("exportProfile", "exportLayerInfo", "exportTimes")
_NEW = ("profilingVerbosity", "maxAuxStreams", "skipInference")
#: Those of TensorRT 8.2.
_OLD = ("nvtxMode", "buildOnly")


def main() -> int:
    options = dict(part.lstrip("-").partition("=")[::2] for part in sys.argv[1:])
    folder = Path(os.environ["FAKE_TRTEXEC"])
    with (folder / "calls.jsonl").open("a") as file:
        file.write(json.dumps(sys.argv[1:]) + "\n")
    known = [*_ALWAYS, *(_OLD if (folder / "old").exists() else _NEW)]
    known.append("stronglyTyped" if (folder / "strongly_typed").exists() else "fp16")
    if "help" in options:
        print("\n".join(f"  --{name}  What it does" for name in known))
        return 0
    if unknown := [name for name in options if name not in known]:
        print(f"[11/30/2026-10:00:00] [E] Unknown option: --{unknown[0]}", flush=True)
        return 1
    print("&&&& RUNNING TensorRT.trtexec [TensorRT v100400] # trtexec", flush=True)
    if (folder / "fail").exists():
        print("[11/30/2026-10:00:00] [E] Error[1]: no device", flush=True)
        return 1
    if "onnx" in options:
        assert Path(options["onnx"]).stat().st_size > 0
        Path(options["saveEngine"]).write_bytes(b"engine")
    if "exportProfile" in options:
        # The second layer's name holds a quote and a backslash, which trtexec does not escape.
        Path(options["exportProfile"]).write_text(
            '[\n  { "count" : 200 }\n'
            ', { "name" : "conv", "timeMs" : 60, "averageMs" : 0.3, "medianMs" : 0.29, "percentage" : 75 }\n'
            ', { "name" : "the "odd\\ one, "timeMs" : 1", "timeMs" : 20, "averageMs" : 0.1, "medianMs" : 0.1, '
            '"percentage" : 25 }\n]\n'
        )
    if "exportLayerInfo" in options:
        layers = [{"Name": "conv", "LayerType": "CaskConvolution"}, {"Name": 'the "odd\\ one', "LayerType": "kgen"}]
        Path(options["exportLayerInfo"]).write_text(json.dumps({"Layers": layers, "Bindings": ["x", "y"]}))
    if "exportTimes" in options:
        count = int(options["iterations"])
        print("[11/30/2026-10:00:00] [I] Starting inference", flush=True)
        time.sleep(0.1 if not (folder / "slow").exists() else 60)
        print(f"[11/30/2026-10:00:00] [I] Timing trace has {count} queries over 0.1 s", flush=True)
        times = [
            {"startEnqMs": 99 + 2 * n, "startComputeMs": 100.0 + 2 * n, "endComputeMs": 101.5 + 2 * n, "latencyMs": 1.6}
            for n in range(count + 3)
        ]
        time.sleep(0.3)  # what it prints of its statistics takes a while
        Path(options["exportTimes"]).write_text(json.dumps(times))
    print("&&&& PASSED TensorRT.trtexec [TensorRT v100400] # trtexec", flush=True)
    return 0


sys.exit(main())
