"""All layers of a network as the backend runs them, each as a network of its own, and which of them are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, prod

from onnx import ModelProto, helper

from edgewatt.backends.base import LoadSettings, NetworkFacts
from edgewatt.backends.network import Network
from edgewatt.backends.onnx_model import runnable_model
from edgewatt.errors import EdgewattError
from edgewatt.isolation.copies import CopyStyle
from edgewatt.isolation.cut import CannotCut, NetworkCutter, build_key
from edgewatt.isolation.described_layer import layer_model
from edgewatt.isolation.hollow import hollow_bytes, hollowed
from edgewatt.isolation.rig import Trial
from edgewatt.networks.engine import layers_from_engine
from edgewatt.networks.layer import FREE_OPERATIONS, Layer

#: Layers take so many times as long as what a call takes beside them: a twentieth is then left to be told apart.
_TIMES_THE_REST = 20.0
#: More copies take longer to build than they are worth.
_MOST_COPIES = 512
#: More different weights would only make small ones colder, which cost next to nothing.
_MOST_VARIANTS = 256
#: Weights that could be read at this rate, which is slower than any board's memory, in less than this share of the
#: layer's time are not worth being kept cold.
_SLOW_BYTES_PER_S, _WORTH_IT = 5e9, 0.01
#: What a network of copies may take in memory.
_MOST_BYTES = 512 * 2**20
#: Inputs and outputs of copies stay in a processor's cache together up to so many bytes; chosen as less than the last
#: level of any.
_WARM_BYTES = 4 * 2**20
#: The probe's layer is measured in at least so many copies, so that one copy and many can be told apart.
PROBE_COPIES = 8


@dataclass(frozen=True)
class CutLayer:
    """One layer of a network.

    Attributes:
        name: Its name, unique in the network.
        backend_type: The backend's own word for its type.
        model: It as a network of its own, with hollow weights; None where there is none.
        key: What it shares with layers that are built alike.
        reason: Why there is no such network; empty where there is.
        executed: Whether the backend executes it.
    """

    name: str
    backend_type: str
    model: ModelProto | None = None
    key: str | None = None
    reason: str = ""
    executed: bool = True


def hollow_network(network: Network, settings: LoadSettings) -> ModelProto | None:
    """An ONNX network without the data of its weights, ready to be cut; None for a network of another kind.

    Raises:
        EdgewattError: The file cannot be read, or its input's shape is not fixed.
    """
    if network.kind != "onnx":
        return None
    return hollowed(runnable_model(replace(network, random_weights=False), settings))


def cut_layers(facts: NetworkFacts, model: ModelProto | None, where: str, *, share: bool = True) -> list[CutLayer]:
    """Cut a network into the layers that the backend runs.

    Args:
        facts: What the backend says of the network.
        model: The network, hollow; None where only descriptions of its layers are known.
        where: What it is called in messages.
        share: Whether layers that are built alike have one key.

    Raises:
        FormatError: The backend tells no more of its layers than their names.
    """
    layers = layers_from_engine(facts.layers, where)
    cutter = None if model is None else NetworkCutter(model, [layer.fused for layer in layers])
    return [_cut_layer(layer, cutter, share) for layer in layers]


def _cut_layer(layer: Layer, cutter: NetworkCutter | None, share: bool) -> CutLayer:
    if layer.operation in FREE_OPERATIONS:
        return CutLayer(layer.name, layer.backend_type, executed=False)
    try:
        if cutter is not None and layer.fused and cutter.knows(layer.fused):
            model = cutter.cut(layer.fused)
        else:
            model = layer_model(layer)
    except (CannotCut, EdgewattError) as error:
        return CutLayer(layer.name, layer.backend_type, reason=str(error))
    key = build_key(model, None if share else {"name": layer.name})
    return CutLayer(layer.name, layer.backend_type, model, key)


@dataclass(frozen=True)
class Copies:
    """How many copies of a layer, and how many different weights.

    Attributes:
        copies: Copies of the layer in one network.
        variants: Different sets of weights that they have, in turn.
    """

    copies: int
    variants: int


def choose_copies(
    model: ModelProto,
    runtime_s: float,
    beside_s: float,
    footprint_bytes: int,
    *,
    least: int = 1,
    style: CopyStyle | None = None,
) -> Copies:
    """How many copies of a layer are measured together.

    So many that a call and the time to the next are mostly layers; and, for caches as cold as the network leaves them,
    so many different weights that between two runs of one of them as many bytes pass as in the network: where reading
    them takes a part of the layer's time that counts.

    Args:
        model: The layer.
        runtime_s: Time of one copy.
        beside_s: Time that a call takes beside its layers, and between calls.
        footprint_bytes: Bytes that the network touches in a cycle; 0 for warm caches.
        least: Copies at least.
        style: How copies are put together.
    """
    wanted = ceil(_TIMES_THE_REST * beside_s / runtime_s) if runtime_s > 0 else _MOST_COPIES
    weights, activations = hollow_bytes(model), max(activation_bytes(model), 1)
    variants = 1
    if weights and footprint_bytes and weights / _SLOW_BYTES_PER_S > _WORTH_IT * runtime_s:
        variants = min(ceil(footprint_bytes / weights), _MOST_VARIANTS, max(_MOST_BYTES // weights, 1))
    most = max(min(_MOST_COPIES, _MOST_BYTES // activations), 1)
    copies = min(max(wanted, variants, least), most)
    may_share = style is not None and style.shared_inputs
    # Where there is room, every copy has weights of its own: only then may copies share an input (see `with_copies`).
    if weights and footprint_bytes and copies * weights <= _MOST_BYTES and (variants > 1 or may_share):
        return Copies(copies, copies)
    if may_share:
        # The input was just written in a network: what copies have of their own must stay in the cache together.
        copies = min(copies, max(_WARM_BYTES // activations, 1))
    return Copies(copies, min(variants, copies))


def footprint(model: ModelProto, layers: Sequence[CutLayer]) -> int:
    """Bytes that a network touches in a cycle: its weights, and its largest inputs and outputs of a layer."""
    largest = max((activation_bytes(layer.model) for layer in layers if layer.model is not None), default=0)
    return hollow_bytes(model) + largest


def activation_bytes(model: ModelProto) -> int:
    """Bytes of a network's inputs and outputs."""
    return sum(_value_bytes(value) for value in (*model.graph.input, *model.graph.output))


def further_layers(trial: Trial) -> tuple[float, list[str]]:
    """What the backend added to a layer that was cut out: share of the time that is the layer's own, and their names.

    Args:
        trial: The layer's trial.
    """
    names = trial.facts.profiled
    if len(names) != len(trial.latency_s) or not trial.latency_s.sum() > 0:
        return 1.0, []
    try:
        layers = layers_from_engine(trial.facts.layers, "the layer")
    except EdgewattError:
        return 1.0, []
    added = {layer.name for layer in layers if layer.operation == "reformat"}
    further = [name for name in names if name in added]
    own = sum(time for name, time in zip(names, trial.latency_s.tolist(), strict=True) if name not in added)
    return (own / float(trial.latency_s.sum()), further) if own > 0 else (1.0, [])


def _value_bytes(value: object) -> int:
    tensor = value.type.tensor_type  # type: ignore[attr-defined]
    size = helper.tensor_dtype_to_np_dtype(tensor.elem_type).itemsize
    return int(prod(dim.dim_value for dim in tensor.shape.dim)) * int(size)


def layer_s(trial: Trial) -> float:
    """Time of a trial's layers: what its profiler says, but no more than the call took without it."""
    profiled = float(trial.latency_s.sum())
    return min(profiled, trial.call_s) if profiled > 0 else trial.call_s


def rest_s(trial: Trial) -> float:
    """Time that a call takes beside its layers, and to the next."""
    return max(trial.call_s - layer_s(trial), 0.0) + max(trial.between_s, 0.0)
