"""Which layers of a sweep are measured again, and when: what their results differ by is the noise floor.

Five of the first ten layers are, and one of every twenty from the hundredth on, each twice more, after random numbers
of others. What is still to come when a sweep ends is measured last.
"""

from __future__ import annotations

import numpy as np

#: Times that a repeated layer is measured.
TIMES = 3
_FIRST, _OF_FIRST = 5, 10
_FROM, _EVERY = 100, 20
#: New layers between one measurement of a layer and the next.
_SOONEST, _LATEST = 10, 80


def repeat_moments(number: int, seed: int) -> tuple[int, ...]:
    """When a layer is measured again.

    Args:
        number: Which of the new layers it is, from 0.
        seed: The sweep's.

    Returns:
        Numbers of new layers before each further measurement; nothing for a layer that is measured once.
    """
    if not _is_repeated(number, seed):
        return ()
    delays = np.random.default_rng([seed, 17, number]).integers(_SOONEST, _LATEST, TIMES - 1)
    return tuple(int(number + delay) for delay in np.cumsum(delays))


def _is_repeated(number: int, seed: int) -> bool:
    if number < _OF_FIRST:
        chosen = np.random.default_rng([seed, 18]).permutation(_OF_FIRST)[:_FIRST]
        return number in chosen
    if number < _FROM:
        return False
    block, place = divmod(number - _FROM, _EVERY)
    return place == int(np.random.default_rng([seed, 19, block]).integers(_EVERY))
