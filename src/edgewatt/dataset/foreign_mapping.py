"""The TOML file that says what the columns of somebody's measurements are.

[table]
separator = "comma"

[network]
name = "measured"

[kind]
name = "convolutional"

[features.convolutional]
batch_size = 1                                 # the same in every row
input_size_0 = "in channels"                   # a column
padding_0 = { column = "pad", times = 2 }      # a column of other meaning: here the padding of one side
precision = { text = "float16" }

[runtime]
column = "time"
unit = "ms"

[power]
column = "power"
unit = "mW"
idle = "included"

[idle]
value = 4.2
unit = "W"
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from edgewatt.formats.toml_file import TomlModel, read_toml
from edgewatt.formats.training_tables import BASE_FEATURES, EXTRA_FEATURES
from edgewatt.networks.layer import LayerKind

HELP_PAGE = "docs/import.md"

#: Seconds, joules and watts of one of each unit.
TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
ENERGY_UNITS = {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6}
POWER_UNITS = {"W": 1.0, "mW": 1e-3, "uW": 1e-6}

_SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " "}


class Split(TomlModel):
    """A column that holds several values.

    Attributes:
        separator: What is between them.
        names: The names that they get, in order.
    """

    separator: str = ","
    names: tuple[str, ...] = Field(strict=False, min_length=1)


class TableLayout(TomlModel):
    """How the table is written.

    Attributes:
        separator: `comma`, `semicolon`, `tab`, `space` (any run of blanks) or one character.
        header: Whether the first line names the columns.
        columns: Names of the columns of a table without a header.
        skip_lines: Lines before the header or the first row.
        decimal: The decimal mark of its numbers.
        split: Columns that hold several values, by name.
    """

    separator: str = "comma"
    header: bool = True
    columns: tuple[str, ...] = Field(default=(), strict=False)
    skip_lines: int = Field(default=0, ge=0)
    decimal: Literal[".", ","] = "."
    split: dict[str, Split] = Field(default_factory=dict)

    @property
    def delimiter(self) -> str:
        """The separator itself."""
        return _SEPARATORS.get(self.separator, self.separator)

    @model_validator(mode="after")
    def _check(self) -> TableLayout:
        if len(self.delimiter) != 1:
            raise ValueError(f"separator: {self.separator!r} is none of {', '.join(_SEPARATORS)} nor one character")
        if self.header == bool(self.columns):
            raise ValueError("columns: a table without a header needs names of its columns, one with a header has them")
        return self


class NameSource(TomlModel):
    """A name that is the same in all rows or stands in a column.

    Attributes:
        name: The name in all rows.
        column: The column.
        values: What the column's values mean; values that are not named are an error. Without it they are the names.
    """

    name: str | None = None
    column: str | None = None
    values: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> NameSource:
        if (self.name is None) == (self.column is None):
            raise ValueError("either name or column must be given")
        return self


class FeatureColumn(TomlModel):
    """A feature in a column.

    Attributes:
        column: The column.
        times: What its values are multiplied with.
    """

    column: str
    times: float = Field(default=1.0, strict=False)


class FeatureText(TomlModel):
    """A feature that is the same text in all rows.

    Attributes:
        text: The text.
    """

    text: str


FeatureSource = str | int | FeatureColumn | FeatureText


class Quantity(TomlModel):
    """A measured quantity.

    Attributes:
        column: The column that holds it.
        value: Its value in all rows, where no column holds it.
        unit: Its unit.
        calls: Number of calls that it is the total of, or the column that holds that number.
    """

    column: str | None = None
    value: float | None = Field(default=None, strict=False)
    unit: str
    calls: str | int = 1

    @model_validator(mode="after")
    def _check(self) -> Quantity:
        if (self.column is None) == (self.value is None):
            raise ValueError("either column or value must be given")
        if isinstance(self.calls, int) and self.calls < 1:
            raise ValueError("calls: at least 1")
        return self


class Runtime(Quantity):
    """How long a layer runs."""

    @model_validator(mode="after")
    def _unit(self) -> Runtime:
        _check_unit(self.unit, TIME_UNITS)
        return self


class Power(Quantity):
    """Power or energy of a layer.

    Attributes:
        idle: Whether the idle power is in it.
    """

    idle: Literal["included", "excluded"]


class Idle(Quantity):
    """Idle power, or energy of the idle board during a call."""

    @model_validator(mode="after")
    def _unit(self) -> Idle:
        _check_unit(self.unit, {**POWER_UNITS, **ENERGY_UNITS})
        return self


class Skip(TomlModel):
    """Rows to leave out.

    Attributes:
        column: The column that tells.
        equals: Its text in rows to leave out; empty text means empty fields.
    """

    column: str
    equals: str


class ForeignMapping(TomlModel):
    """What the columns of a foreign table are.

    Attributes:
        table: How it is written.
        network: Whose layers its rows are: a folder for each.
        kind: Of which kind they are.
        features: Features of the layers of each kind.
        layer_name: Name of a row's layer; `{line}` and `{column name}` in it are replaced.
        runtime: How long a layer runs.
        power: Its power; either this or `energy`.
        energy: Its energy, which divided by the runtime is its power.
        idle: Idle power.
        method: How the power was measured, in a few words.
        samples: The column with the number of power values of a row.
        skip: Rows to leave out.
    """

    table: TableLayout = TableLayout()
    network: NameSource
    kind: NameSource
    features: dict[str, dict[str, FeatureSource]]
    layer_name: str = "line {line}"
    runtime: Runtime
    power: Power | None = None
    energy: Power | None = None
    idle: Idle | None = None
    method: str = "imported"
    samples: str | None = None
    skip: tuple[Skip, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _check(self) -> ForeignMapping:
        if (self.power is None) == (self.energy is None):
            raise ValueError("either [power] or [energy] must be given")
        if self.power is not None:
            _check_unit(self.power.unit, POWER_UNITS, "power.unit: ")
        if self.energy is not None:
            _check_unit(self.energy.unit, ENERGY_UNITS, "energy.unit: ")
        if self.measured.idle == "included" and self.idle is None:
            raise ValueError("[idle] is missing, and idle power is included: the tables hold power above idle")
        for kind in self.features:
            _check_features(kind, self.features[kind])
        names = [self.kind.name] if self.kind.name is not None else list(self.kind.values.values())
        for name in names:
            if name not in self.features:
                raise ValueError(f"[features.{name}] is missing, and [kind] names {name}")
        return self

    @property
    def measured(self) -> Power:
        """Power or energy, whichever is given."""
        found = self.power or self.energy
        assert found is not None
        return found


def read_mapping(path: Path) -> ForeignMapping:
    """Read the file.

    Raises:
        FormatError: It is missing, not TOML, or a key is missing, unknown or has a value that it cannot have.
    """
    return read_toml(path, ForeignMapping, HELP_PAGE)


def _check_unit(unit: str, known: dict[str, float], prefix: str = "unit: ") -> None:
    if unit not in known:
        raise ValueError(f"{prefix}{unit!r} is none of {', '.join(known)}")


def _check_features(kind: str, given: dict[str, FeatureSource]) -> None:
    try:
        known_kind = LayerKind(kind)
    except ValueError:
        raise ValueError(f"features.{kind}: kinds are {', '.join(map(str, LayerKind))}") from None
    known = (*BASE_FEATURES[known_kind], *EXTRA_FEATURES[known_kind])
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ValueError(f"features.{kind}.{unknown[0]}: not a feature; there are {', '.join(known)}")
    missing = [name for name in BASE_FEATURES[known_kind] if name not in given]
    if missing:
        raise ValueError(f"features.{kind}: {', '.join(missing)} missing")
