"""What the page is made of: plain values without any markup."""

from __future__ import annotations

from dataclasses import dataclass, field

import edgewatt
from edgewatt.networks.layer import LayerKind
from edgewatt.reports.figure_parts import Figure
from edgewatt.results.estimate import Estimate
from edgewatt.results.network_result import Finding, LayerResult, NetworkResult
from edgewatt.results.totals import Totals


@dataclass(frozen=True)
class Headline:
    """One number at the top of a network's part.

    Attributes:
        name: What it is.
        value: The number, with its unit.
        spread: Its interval, or what stands in for it.
    """

    name: str
    value: str
    spread: str


@dataclass(frozen=True)
class KindSum:
    """What the layers of one kind come to.

    Attributes:
        kind: The kind.
        layers: Number of layers.
        runtime_s: Sum of their runtimes.
        energy_j: Sum of their energies.
        share: Their share of the energy; None where no energy is known.
    """

    kind: LayerKind
    layers: int
    runtime_s: Estimate | None
    energy_j: Estimate | None
    share: float | None


@dataclass(frozen=True)
class Plot:
    """A plot and its words.

    Attributes:
        title: Its title.
        caption: What it shows.
        figure: What plotly draws.
        wide: Whether it takes the page's whole width.
        kinds: Sums of each kind of layer, to stand below it.
    """

    title: str
    caption: str
    figure: Figure
    wide: bool = False
    kinds: tuple[KindSum, ...] = ()


@dataclass(frozen=True)
class LayerRow:
    """A row of a network's table.

    Attributes:
        number: Its place in the order of execution, from 1.
        layer: The layer.
        power: Its power.
        energy: Its energy.
        share: Share of the network's energy, from 0 to 1.
        predicted: The same layer's prediction, where there is one.
    """

    number: int
    layer: LayerResult
    power: Estimate | None
    energy: Estimate | None
    share: float | None
    predicted: LayerResult | None = None


@dataclass(frozen=True)
class NetworkPart:
    """A network's part of the page.

    Attributes:
        result: The network.
        label: Its name, told apart from others on the page.
        badges: Where and how it ran, in few words.
        headlines: The numbers at its top.
        findings: What to trust and what not, the worst first.
        plots: Its plots.
        rows: Its layers.
        with_idle: Whether powers and energies of its layers hold idle power.
        predicted_by: Label of the prediction that its table stands beside.
    """

    result: NetworkResult
    label: str
    badges: tuple[str, ...]
    headlines: tuple[Headline, ...]
    findings: tuple[Finding, ...]
    plots: tuple[Plot, ...]
    rows: tuple[LayerRow, ...]
    with_idle: bool
    predicted_by: str | None = None


@dataclass(frozen=True)
class OverviewRow:
    """A network in the overview.

    Attributes:
        label: Its name.
        source: What it was read from.
        environment: Where and how it ran.
        layers: Number of layers.
        totals: Its totals, of the same thing as those of all rows.
    """

    label: str
    source: str
    environment: str
    layers: int
    totals: Totals


@dataclass(frozen=True)
class PageData:
    """The whole page.

    Attributes:
        title: Its title.
        parts: One for each network.
        overview: Rows of the overview; empty for a single network.
        overview_plots: Plots beside it.
        differences: In what the environments differ.
        made_by: The version that made the page.
    """

    title: str
    parts: tuple[NetworkPart, ...]
    overview: tuple[OverviewRow, ...] = ()
    overview_plots: tuple[Plot, ...] = ()
    differences: tuple[str, ...] = ()
    made_by: str = field(default=f"edgewatt {edgewatt.__version__}")
