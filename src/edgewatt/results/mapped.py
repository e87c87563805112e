"""A preprocessed folder as a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgewatt.dataset.tables import ENGINE_FILE, read_measured_layers
from edgewatt.formats.layer_metrics import FILE_NAME as METRICS_FILE
from edgewatt.formats.layer_metrics import read_layer_metrics
from edgewatt.formats.layer_power import FILE_NAME as LAYER_POWER_FILE
from edgewatt.formats.mapping_info import FILE_NAME as MAPPING_FILE
from edgewatt.formats.mapping_info import MappingInfo, read_mapping_info
from edgewatt.results.environment import mapped_environment, simulation_findings
from edgewatt.results.estimate import Estimate
from edgewatt.results.measured_layers import engine_layers, layer_findings, measured_layer
from edgewatt.results.network_result import Finding, LayerResult, NetworkResult, Source, Weight

#: Energy closures up to which a mapping counts as sound, and beyond which it does not. Chosen: a board's current
#: sensor is good to about one percent, and its clock shifts the edges of a short recording by some more.
_GOOD_CLOSURE, _BAD_CLOSURE = 0.03, 0.10
#: Shares of the cycle that layers may add up to without a word.
_LEAST_SUM, _MOST_SUM = 0.85, 1.05


def is_mapped(folder: Path) -> bool:
    """Whether a folder is a preprocessed network's."""
    return (folder / LAYER_POWER_FILE).is_file() or (folder / METRICS_FILE).is_file()


def read_mapped(folder: Path) -> NetworkResult:
    """Read a preprocessed folder, of ours or of the base method.

    Raises:
        FormatError: It holds neither file of powers, or a broken one.
    """
    measured = read_measured_layers(folder)
    info = read_mapping_info(folder / MAPPING_FILE) if (folder / MAPPING_FILE).exists() else None
    known, runtimes = engine_layers(folder / ENGINE_FILE), _runtimes(folder)
    layers = tuple(
        measured_layer(
            power, known.get(power.layer_name), measured.idle_power_w, runtimes.get(power.layer_name), measured.method
        )
        for power in measured.layers
    )
    return mapped_result(folder, layers, measured.idle_power_w, info, measured.method)


def mapped_result(
    folder: Path, layers: tuple[LayerResult, ...], idle_power_w: float | None, info: MappingInfo | None, method: str
) -> NetworkResult:
    """A mapped network's result.

    Args:
        folder: Its preprocessed folder.
        layers: Its layers.
        idle_power_w: Idle power.
        info: How it was mapped; None where that is not known.
        method: The mapping method.
    """
    network_s = None if info is None else info.runtime.get("network_s")
    environment = mapped_environment(info, method)
    return NetworkResult(
        name=folder.resolve().name if info is None else info.model,
        source=Source.MAPPED,
        path=folder,
        layers=layers,
        idle_power_w=idle_power_w,
        runtime_s=None if network_s is None else Estimate(network_s),
        cycles=None if info is None else info.cycles,
        environment=environment,
        findings=(
            *simulation_findings(environment.board, environment.backend),
            *([] if info is None else mapping_findings(info)),
            *layer_findings(layers, method),
        ),
        made=made_of_mapping(info, method, idle_power_w),
    )


def mapping_findings(info: MappingInfo) -> list[Finding]:
    """What `mapping.json` tells of how far to trust a mapping."""
    found = [_closure_finding(info.energy_closure)]
    ratio = info.runtime.get("ratio")
    if ratio is not None:
        usual = _LEAST_SUM <= ratio <= _MOST_SUM
        found.append(
            Finding(
                Weight.NOTE if usual else Weight.CAUTION,
                f"The layers' runtimes add up to {ratio:.0%} of the network's cycle",
            )
        )
    if info.run.get("interrupted"):
        found.append(Finding(Weight.CAUTION, "The recording was interrupted; its complete cycles are kept"))
    return found + [_warning_finding(warning) for warning in info.warnings]


def made_of_mapping(info: MappingInfo | None, method: str, idle_power_w: float | None) -> dict[str, str]:
    """How a mapping was made, to show."""
    made = {"Mapping method": method}
    if idle_power_w is not None:
        made["Idle power"] = f"{idle_power_w:.3f} W"
    if info is None:
        return made
    made["Cycles"] = f"{info.cycles:,}"
    if info.readings:
        made["Power readings"] = ", ".join(f"{count:,} {name}" for name, count in info.readings.items())
    made |= {f"Mapping: {name}": shown for name, value in info.settings.items() if (shown := plain_text(value))}
    made["Mapped by"] = f"edgewatt {info.edgewatt_version}"
    return made


def plain_text(value: Any) -> str:
    """A setting's value to show; empty for what is not known or too long to."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown}" for name, item in value.items() if (shown := plain_text(item)))
    if isinstance(value, list | tuple):
        return ", ".join(map(plain_text, value)) if len(value) <= 8 else ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


def _warning_finding(warning: str) -> Finding:
    """A warning of the mapping; of its advice only what would help, for what is wrong is told of the layers."""
    _, found, advice = warning.partition("; what would help: ")
    return Finding(Weight.NOTE, f"What would help: {advice}") if found else Finding(Weight.CAUTION, warning)


def _closure_finding(closure: float | None) -> Finding:
    if closure is None:
        return Finding(Weight.NOTE, "Whether the energies add up is not known: the log or the layers are incomplete")
    size = abs(closure)
    weight = Weight.GOOD if size <= _GOOD_CLOSURE else Weight.CAUTION if size <= _BAD_CLOSURE else Weight.BAD
    return Finding(
        weight, f"Energy closure {closure:+.1%}: layers and gaps together against the energy that was measured"
    )


def _runtimes(folder: Path) -> dict[str, Estimate | None]:
    """Runtimes with their scatter from the base method's file, which has every cycle, where ours is not there."""
    if (folder / LAYER_POWER_FILE).is_file() or not (folder / METRICS_FILE).is_file():
        return {}
    metrics = read_layer_metrics(folder / METRICS_FILE)
    return {layer.name: Estimate.of_values(layer.latency_ms / 1e3) for layer in metrics}
