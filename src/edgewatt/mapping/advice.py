"""What would help where a recording does not tell its layers apart."""

from __future__ import annotations

import numpy as np

from edgewatt.mapping.design_matrix import Occupancy
from edgewatt.mapping.fit_response import Fit
from edgewatt.mapping.fresh_values import FreshValues
from edgewatt.mapping.groups import Grouped

#: More cycles than this many times the recording's are no advice.
_MOST_TIMES = 20.0
#: Conversions that are longer than this many layers hide them.
_LONG_CONVERSION = 4.0


def advise(
    fit: Fit, fresh: FreshValues, occupancy: Occupancy, grouped: Grouped, told_w: float, cycles: int
) -> list[str]:
    """Say what would help, in sentences.

    Args:
        fit: The fit.
        fresh: The values that it is of.
        occupancy: The timeline's segments.
        grouped: The layers' powers.
        told_w: Standard deviation up to which a power counts as told.
        cycles: Number of recorded cycles.
    """
    time_s = occupancy.time_s[: occupancy.layers]
    executed = time_s > 0
    hidden = executed & ~grouped.identifiable
    count = int(np.count_nonzero(hidden))
    if not count:
        return []
    helps = []
    # Errors fall with the root of the number of values.
    times = float(np.median((grouped.deviation_w[hidden] / told_w) ** 2)) if told_w > 0 else np.inf
    if times <= _MOST_TIMES:
        helps.append(f"about {_rounded(max(times, 1.5) * cycles)} cycles")
    layer_s = float(np.median(time_s[executed])) / cycles
    response = fit.response
    if response.length_s > _LONG_CONVERSION * layer_s or response.samples > 1:
        averaged = f", averaged over {response.samples}" if response.samples > 1 else ""
        helps.append(
            f"a faster sensor setting (its conversions take {response.length_s * 1e3:.3g} ms{averaged}, one every "
            f"{fresh.period_s * 1e3:.3g} ms)"
        )
    helps.append("measuring these layers by themselves (`edgewatt record --isolate`)")
    of = int(np.count_nonzero(executed))
    return [
        f"{count} of {of} layers cannot be told from their neighbours or are uncertain; what would help: "
        + ", or ".join(helps)
    ]


def _rounded(number: float) -> str:
    """To two digits."""
    digits = 10 ** max(0, int(np.log10(number)) - 1)
    return f"{round(number / digits) * digits:,}"
