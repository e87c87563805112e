"""The states that networks were recorded in, side by side: what each costs, and which is the most efficient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgewatt.batch import Batch, run_batch
from edgewatt.errors import EdgewattError
from edgewatt.formats.recording import RecordingPaths, find_recordings
from edgewatt.formats.run_folders import network_of
from edgewatt.formats.run_info import read_run_info
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import NetworkResult
from edgewatt.results.recording import is_recording, read_recorded


@dataclass(frozen=True)
class StateResult:
    """What a network costs in one state; what was not recorded is None.

    Attributes:
        name: The run's name, behind its folder's where it lies in one.
        path: The recording's folder.
        network: The network's name.
        board: The board.
        batch: Inputs of one cycle.
        precision: The type that it computed in.
        power_mode: The board's power mode; empty where it is not known.
        latency_s: Time of one cycle.
        runtime_s: Time of one cycle for each of its inputs.
        power_w: Mean power while the network ran, pauses between cycles and idle power included.
        energy_j: Energy of one cycle for each of its inputs: the run's energy, less idle power in the pauses. None
            where idle power is not known.
    """

    name: str
    path: Path
    network: str
    board: str
    batch: int
    precision: str
    power_mode: str
    latency_s: Estimate | None
    runtime_s: Estimate | None
    power_w: Estimate | None
    energy_j: Estimate | None

    @property
    def slowest_s(self) -> float | None:
        """The longest that a cycle takes, by the upper end of its interval; None where it is not known."""
        return None if self.latency_s is None else max(self.latency_s.value, self.latency_s.high or 0.0)

    def within(self, latency_s: float | None) -> bool:
        """Whether a cycle takes no longer, all of its interval; any does where no latency is given."""
        return latency_s is None or (self.slowest_s is not None and self.slowest_s <= latency_s)


def read_states(raw_dir: Path) -> Batch[StateResult]:
    """Read the recordings of a folder, also those in folders of power modes or boards, going on after a broken one.

    Raises:
        EdgewattError: The folder is missing or holds no recording.
    """
    paths = [one for one in find_recordings(raw_dir) if is_recording(one.folder)]
    if not paths:
        raise EdgewattError("the folder holds no recording of whole networks", where=raw_dir)
    return run_batch(paths, lambda one: one.name, _read)


def most_efficient(states: Sequence[StateResult], latency_s: float | None = None) -> dict[str, StateResult | None]:
    """For each network the state with the least energy for an input.

    Args:
        states: The states.
        latency_s: The longest that a cycle may take; None for any.

    Returns:
        By network; None where no state is fast enough, or no energy is known.
    """
    best: dict[str, StateResult | None] = {}
    for state in states:
        known = best.setdefault(state.network, None)
        if state.energy_j is None or not state.within(latency_s):
            continue
        if known is None or known.energy_j is None or state.energy_j.value < known.energy_j.value:
            best[state.network] = state
    return best


def rivals(best: StateResult, states: Sequence[StateResult], latency_s: float | None = None) -> list[StateResult]:
    """States of the same network that are fast enough, and whose energy is not told apart from the best one's.

    Args:
        best: The state with the least energy.
        states: The states.
        latency_s: The longest that a cycle may take; None for any.
    """
    highest = None if best.energy_j is None else best.energy_j.high
    if highest is None:
        return []
    return [
        state
        for state in states
        if state is not best
        and state.network == best.network
        and state.within(latency_s)
        and state.energy_j is not None
        and state.energy_j.low is not None
        and state.energy_j.low <= highest
    ]


def _read(paths: RecordingPaths) -> StateResult:
    result = read_recorded(paths.folder, map_layers=False)
    run = read_run_info(paths.run_info) if paths.run_info.exists() else None
    batch = (None if run is None else run.batch_size) or _batch_of_layers(result)
    return StateResult(
        name=paths.name,
        path=paths.folder,
        network=network_of(paths.name),
        board=result.environment.board,
        batch=batch,
        precision=result.environment.precision,
        power_mode=result.environment.power_mode,
        latency_s=result.runtime_s,
        runtime_s=None if result.runtime_s is None else result.runtime_s.scaled(1 / batch),
        power_w=result.run_power_w,
        energy_j=_energy(result, batch),
    )


def _batch_of_layers(result: NetworkResult) -> int:
    """Inputs of one cycle, as the engine's first layer has them; 1 where that is not known."""
    return next((layer.layer.batch_size for layer in result.layers if layer.layer and layer.layer.input_shape), 1)


def _energy(result: NetworkResult, batch: int) -> Estimate | None:
    """Energy of a cycle by its inputs: the run's, less what idling draws in the pauses between cycles."""
    energy, trace = result.run_energy_j, result.trace
    if energy is None or trace is None or result.idle_power_w is None:
        return None
    pitch_s = float(trace.end_s[-1] - trace.start_s[0]) / len(trace.start_s)
    pause_s = pitch_s - float((trace.end_s - trace.start_s).mean())
    return energy.shifted(-result.idle_power_w * pause_s).scaled(1 / batch)
