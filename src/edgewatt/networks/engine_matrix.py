"""Dense layers of the engine inspector: matrix products, also inside of generated kernels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from edgewatt.errors import FormatError, warn
from edgewatt.networks.engine_record import EngineRecord, EngineTensor
from edgewatt.networks.layer import Layer, LayerKind
from edgewatt.networks.windows import Shape

_PRODUCTS = ("Gemm", "MatMul", "Conv")
# Myelin names its own constants so; a scale factor is a constant that is no weight.
_CONSTANT_NAME = re.compile(r"dconst|constant|_alpha$|_beta$", re.IGNORECASE)


@dataclass(frozen=True)
class MatrixContext:
    """What other layers say about the tensors of a matrix product.

    Attributes:
        computed: Names of tensors that some layer computes from activations.
    """

    computed: frozenset[str]

    @classmethod
    def of(cls, records: Iterable[EngineRecord]) -> MatrixContext:
        """The context of all layers of an engine."""
        computing = (record for record in records if record.operation != "constant")
        return cls(frozenset(tensor.name for record in computing for tensor in record.outputs))

    def split(self, record: EngineRecord) -> tuple[EngineTensor | None, list[EngineTensor], list[EngineTensor]]:
        """The first activation, the constants (largest first, scale factors left out) and all activations.

        A tensor that no layer computes is a constant, unless nothing else can be the activation: the network's
        own input is computed by no layer either.
        """
        activations = [t for t in record.inputs if t.name in self.computed]
        rest = [t for t in record.inputs if t.name not in self.computed]
        if not activations and rest:
            activations = [t for t in rest if not _CONSTANT_NAME.search(t.name)][:1] or rest[:1]
            rest.remove(activations[0])
        constants = sorted((t for t in rest if prod(t.shape) > 1), key=lambda t: -prod(t.shape))
        return (activations[0] if activations else None), constants, activations


def product_operations(record: EngineRecord) -> dict[str, str]:
    """The matrix products and convolutions that a layer's metadata names: full name to operator.

    The operator is the last part of the path without its number: `Gemm` of `/fc/Gemm` or `Gemm_48`.
    """
    words = {name: re.sub(r"_\d+$", "", name.rsplit("/", 1)[-1]) for name in record.operations}
    return {name: word for name, word in words.items() if word in _PRODUCTS}


def matrix_layer(record: EngineRecord, name: str, context: MatrixContext) -> Layer:
    """A matrix product: of an activation with weights, or of two activations.

    Raises:
        FormatError: It has no inputs or outputs.
    """
    output = record.outputs[0].shape if record.outputs else ()
    if not record.inputs or not output or not prod(output):
        raise FormatError("a matrix product without inputs or outputs", where=record.where)
    columns = _matrix(output)[-1]
    rows = prod(output) // columns
    constants: list[EngineTensor] = []
    activations = list(record.inputs)
    weights = record.counted("Weights")[0]
    if not record.has("Weights"):
        constants, activations = _operands(record, context, columns)
        weights = prod(constants[0].shape) if constants and prod(constants[0].shape) > columns else 0
        if constants and len(_matrix(constants[0].shape)) > 2:  # one matrix for each of a batch
            weights = 0
    inner = weights // columns if weights else _inner_size(activations[0].shape, output)
    activation = next((t for t in activations if prod(t.shape) == rows * inner), activations[0])
    _check(record, activation.shape, rows, inner)
    return Layer(
        name=name,
        kind=LayerKind.DENSE,
        operation="gemm",
        input_shape=_input_shape(activation.shape, output, inner),
        output_shape=output,
        macs=rows * columns * inner,
        **record.common_fields(activations=activations, constants=constants),
    )


def _operands(
    record: EngineRecord, context: MatrixContext, columns: int
) -> tuple[list[EngineTensor], list[EngineTensor]]:
    """Constants (weights first) and activations of a product that has no `Weights`."""
    _, constants, activations = context.split(record)
    has_weights = any(prod(tensor.shape) > columns for tensor in constants)
    if len(activations) == 1 and not has_weights:
        # The int8 gemm keeps its weights inside and lists the activation only.
        activation = activations[0]
        inner = _inner_size(activation.shape, record.outputs[0].shape)
        constants = [EngineTensor("weights", (inner, columns), activation.type), *constants]
    return constants, activations


def _matrix(shape: Sequence[int]) -> Shape:
    """A shape without the extents of one behind a convolution's channels."""
    return tuple(shape[:2]) if len(shape) == 4 and tuple(shape[2:]) == (1, 1) else tuple(shape)


def _inner_size(activation: Sequence[int], output: Sequence[int]) -> int:
    """The length of the sums: the last dimension of the first operand, or the one before if it is transposed."""
    matrix, result = _matrix(activation), _matrix(output)
    if len(matrix) < 2:
        return matrix[-1] if matrix else 1
    rows = result[-2] if len(result) > 1 else 1
    return matrix[-2] if matrix[-2] != rows and matrix[-1] == rows else matrix[-1]


def _input_shape(activation: Shape, output: Shape, inner: int) -> Shape:
    """The activation's shape, as rows of `inner` values where a generated kernel has it transposed."""
    if _matrix(activation)[-1:] == (inner,) or prod(activation) != prod(output[:-1]) * inner:
        return activation
    return (*output[:-1], inner)


def _check(record: EngineRecord, activation: Shape, rows: int, inner: int) -> None:
    if prod(activation) != rows * inner:
        warn(
            f"the matrix product has {rows} rows of {inner} values but an activation of {list(activation)}",
            where=record.where,
            fix="Its multiply-accumulates may be wrong; export the engine again",
        )
