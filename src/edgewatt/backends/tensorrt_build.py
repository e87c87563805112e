"""ONNX to a TensorRT engine that can be measured: detailed layer information, and one stream.

Differences between versions are told by what the module has, never by its number:

- up to 10, half precision is a flag of the builder; from 11 on a network is built in the types that it has, so that
  it is converted before;
- 8 needs to be told that a network has its batch in its shapes; later versions know no other.
"""

from __future__ import annotations

from typing import Any

from onnx import ModelProto

from edgewatt.backends.network import Network
from edgewatt.backends.onnx_half import with_float16
from edgewatt.errors import EdgewattError

#: Builder flags of the types that a builder may choose, by precision.
_FLAGS = {"float16": "FP16", "bfloat16": "BF16", "int8": "INT8", "float8": "FP8"}
_QUANTISING = ("QuantizeLinear", "DequantizeLinear")


def build_engine(trt: Any, model: ModelProto, precision: str, network: Network) -> bytes:
    """Build an engine.

    Args:
        trt: The TensorRT module.
        model: The network, with weights and a fixed input shape.
        precision: The type to compute in.
        network: Where it came from, for errors.

    Returns:
        The serialized engine.

    Raises:
        EdgewattError: TensorRT cannot parse or build it, or cannot compute in that type.
    """
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    chooses = _chooses_types(trt)
    definition = builder.create_network(_creation_flags(trt))
    content = _with_precision(trt, model, precision, network).SerializeToString()
    parser = trt.OnnxParser(definition, logger)
    if not parser.parse(content):
        errors = [_parser_error(parser.get_error(index), model) for index in range(parser.num_errors)]
        raise EdgewattError(
            f"TensorRT cannot parse it: {'; '.join(errors[:3]) or 'no reason given'}",
            where=network.path,
            fix="Export the network with another opset, or simplify it first",
        )
    config = builder.create_builder_config()
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    if hasattr(config, "max_aux_streams"):
        config.max_aux_streams = 0  # layers that run at the same time would be reported as if one came after the other
    if chooses and precision in _FLAGS:
        config.set_flag(getattr(trt.BuilderFlag, _FLAGS[precision]))
    plan = builder.build_serialized_network(definition, config)
    if plan is None:
        raise EdgewattError(
            "TensorRT cannot build an engine of it",
            where=network.path,
            fix="Its own messages are above; a GPU with too little free memory is a common reason",
        )
    return bytes(plan)


def _parser_error(error: Any, model: ModelProto) -> str:
    index = int(error.node())
    if not 0 <= index < len(model.graph.node):
        return str(error.desc())
    node = model.graph.node[index]
    return f"operation {node.name!r} ({node.op_type}): {error.desc()}"


def _chooses_types(trt: Any) -> bool:
    """Whether the builder chooses types by flags, rather than taking the network's."""
    return hasattr(trt.BuilderFlag, "FP16")


def _creation_flags(trt: Any) -> int:
    flags = trt.NetworkDefinitionCreationFlag
    wanted = 0
    if hasattr(flags, "EXPLICIT_BATCH"):
        wanted |= 1 << int(flags.EXPLICIT_BATCH)
    if not _chooses_types(trt) and hasattr(flags, "STRONGLY_TYPED"):
        wanted |= 1 << int(flags.STRONGLY_TYPED)
    return wanted


def _with_precision(trt: Any, model: ModelProto, precision: str, network: Network) -> ModelProto:
    """The network in a form whose engine computes in `precision`."""
    quantised = any(node.op_type in _QUANTISING for node in model.graph.node)
    if precision in ("int8", "float8") and not quantised:
        raise EdgewattError(
            f"the network is not quantised, so it cannot compute in {precision}",
            where=network.path,
            fix="Quantise it first (an ONNX file with QuantizeLinear and DequantizeLinear), or use float16",
        )
    if _chooses_types(trt):
        flag = _FLAGS.get(precision)
        if flag is not None and not hasattr(trt.BuilderFlag, flag):
            raise EdgewattError(f"this TensorRT ({trt.__version__}) cannot compute in {precision}", fix="Use float16")
        return model
    if precision == "float16":
        return with_float16(model)
    if precision == "bfloat16":
        raise EdgewattError(
            f"this TensorRT ({trt.__version__}) takes a network's types as they are",
            where=network.path,
            fix="Export the network in bfloat16 and ask for float32, or use float16",
        )
    return model
