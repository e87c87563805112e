"""What is to be measured: the layers of a network, or a list of single layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from edgewatt.backends.base import LoadSettings, NetworkFacts
from edgewatt.backends.network import Network
from edgewatt.errors import EdgewattError
from edgewatt.formats.engine_info import EngineInfo, read_engine_info
from edgewatt.isolation.copies import with_copies
from edgewatt.isolation.cut import build_key
from edgewatt.isolation.options import IsolationOptions
from edgewatt.isolation.plan import CutLayer, cut_layers, footprint, hollow_network
from edgewatt.isolation.rig import LoopNetwork, LoopRig, Trial

#: Key of the subject that is the whole network.
WHOLE = "network"


@dataclass(frozen=True)
class IsolationJob:
    """What is to be measured.

    Attributes:
        network: The network as it was named, or what a list of layers is called.
        layers: Its layers.
        engine: Their descriptions, for whoever reads the recording.
        facts: What the backend says of the network; of a list of layers, little.
        identity: What tells this network, or list, from others; a recording is only gone on with where it is the same.
        whole: The network itself; None where it cannot be run, and for a list of layers.
        whole_trial: Its trial.
        footprint_bytes: Bytes that pass between two runs of a layer, which is how cold caches are left.
    """

    network: str
    layers: Sequence[CutLayer]
    engine: EngineInfo
    facts: NetworkFacts
    identity: str
    whole: LoopNetwork | None = None
    whole_trial: Trial | None = None
    footprint_bytes: int = 0
    where: str = field(default="")


def network_job(network: Network, named: str, rig: LoopRig, options: IsolationOptions) -> IsolationJob:
    """The layers of a network as the backend runs them.

    Args:
        network: The network.
        named: What the user called it.
        rig: What runs it, to be asked which layers it has.
        options: How it is measured.

    Raises:
        EdgewattError: The network cannot be read, loaded or run.
    """
    load = LoadSettings(options.precision, options.input_shape, options.seed)
    model = hollow_network(network, load)
    whole = LoopNetwork(WHOLE, network=network) if model is None else LoopNetwork(WHOLE, partial(with_copies, model, 1))
    trial = _try_whole(whole, network, rig, options)
    layers = cut_layers(trial.facts, model, str(network.path), share=options.share)
    runs = trial.call_s > 0
    return IsolationJob(
        network=named,
        layers=layers,
        engine=EngineInfo(trial.facts.layers, trial.facts.bindings),
        facts=trial.facts,
        identity=network.path.name if model is None else build_key(model),
        whole=whole if runs else None,
        whole_trial=trial if runs else None,
        footprint_bytes=0 if model is None else footprint(model, layers),
        where=str(network.path),
    )


def _try_whole(whole: LoopNetwork, network: Network, rig: LoopRig, options: IsolationOptions) -> Trial:
    """The network's trial; of an inspector's JSON that the backend cannot run, what the file says."""
    try:
        return rig.trial(whole)
    except EdgewattError:
        if network.kind != "layers":
            raise
    info = read_engine_info(network.path)
    facts = NetworkFacts(info.layers, tuple(info.names), (), options.precision, True, bindings=info.bindings)
    return Trial(facts, 0.0, 0.0, np.zeros(0))
