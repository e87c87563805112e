from __future__ import annotations

import numpy as np
import pytest

from edgewatt.mapping.layer_prior import learned_prior
from edgewatt.mapping.solve import Prior

GAP_W = 4.0
RUNTIME_S = np.geomspace(10e-6, 1e-3, 12)
#: 5 us of each layer at 2 W, the rest at 9 W.
POWER_W = (5e-6 * 2.0 + (RUNTIME_S - 5e-6) * 9.0) / RUNTIME_S
PRIOR = Prior(np.full(13, 6.0), np.full(13, 8.0))


def _learned(power_w: np.ndarray, variance: np.ndarray, runtime_s: np.ndarray = RUNTIME_S) -> Prior:
    gaps = len(PRIOR.mean_w) - len(power_w)
    return learned_prior(
        np.append(power_w, np.full(gaps, GAP_W)), np.diag(np.append(variance, np.full(gaps, 1e-4))), runtime_s, PRIOR
    )


def test_a_layer_that_is_not_told_is_expected_on_the_line_of_the_others() -> None:
    power, variance = POWER_W.copy(), np.full(12, 1e-4)
    power[0], variance[0] = 6.0, 64.0  # all that is known is the prior
    learned = _learned(power, variance)
    assert learned.mean_w[0] == pytest.approx(5.5, abs=0.05)
    assert learned.deviation_w[0] > 3 * learned.deviation_w[11]
    assert (learned.mean_w[12], learned.deviation_w[12]) == (6.0, 8.0)


def test_what_the_prior_gave_to_a_power_is_not_learned_from() -> None:
    # The recording says 20 W +- 8 W of the first layer, the prior 6 W +- 8 W: 13 W with half of the variance.
    power, variance = POWER_W.copy(), np.full(12, 1e-4)
    power[0], variance[0] = 13.0, 32.0
    shrunk = _learned(power, variance)
    power[0], variance[0] = 20.0, 64.0
    covariance = np.diag(np.append(variance, 1e-4))
    alone = learned_prior(np.append(power, GAP_W), covariance, RUNTIME_S, Prior(np.full(13, 6.0), np.full(13, 1e6)))
    np.testing.assert_allclose(shrunk.mean_w[:12], alone.mean_w[:12], atol=1e-3)
    np.testing.assert_allclose(shrunk.deviation_w[:12], alone.deviation_w[:12], atol=1e-3)


def test_waiting_draws_no_less_than_gaps() -> None:
    runtime = RUNTIME_S.copy()
    runtime[0] = 1e-6
    power, variance = POWER_W.copy(), np.full(12, 1e-4)
    power[0], variance[0] = 6.0, 64.0
    assert _learned(power, variance, runtime).mean_w[0] == GAP_W


def test_a_layer_that_is_not_executed_keeps_its_prior() -> None:
    runtime = RUNTIME_S.copy()
    runtime[3] = 0.0
    learned = _learned(POWER_W, np.full(12, 1e-4), runtime)
    assert (learned.mean_w[3], learned.deviation_w[3]) == (6.0, 8.0)


def test_too_few_layers_are_no_line() -> None:
    few = Prior(np.full(5, 6.0), np.full(5, 8.0))
    assert learned_prior(np.append(POWER_W[:4], GAP_W), np.eye(5), RUNTIME_S[:4], few) is few
