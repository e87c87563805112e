"""What results give to notebooks and scripts: a dictionary, a data frame, and a table to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


class Tabular:
    """Lets a result show itself; how is told in `edgewatt.reports.notebook`, which is imported when it is asked."""

    def to_dict(self) -> dict[str, Any]:
        """The result as a dictionary of plain values: what the command line prints with `--json`."""
        import edgewatt.reports.notebook  # noqa: F401 (it registers the types)
        from edgewatt.reports.shown import as_dict

        return as_dict(self)

    def to_polars(self) -> pl.DataFrame:
        """The result as a data frame, one row for each of its layers or scores."""
        import edgewatt.reports.notebook  # noqa: F401 (it registers the types)
        from edgewatt.reports.shown import as_frame

        return as_frame(self)

    def _repr_html_(self) -> str:
        """The table that a notebook shows."""
        import edgewatt.reports.notebook  # noqa: F401 (it registers the types)
        from edgewatt.reports.shown import as_html

        return as_html(self)
