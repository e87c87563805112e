"""Sweeps of single layers: training data that covers what real networks use, measured layer by layer.

Its modules:

    single.py                  a layer by its numbers, its network and its description
    shipped.py                 the layers of the shipped architectures
    designed.py                layers around them, which fill the space
    limits.py                  what a board can hold
    sequence.py                all of them in one endless order, so that a longer sweep begins like a shorter one
    repeats.py                 which layers are measured again, and when: the noise floor
    planning.py                which of them a sweep takes next
    tables.py                  what was measured, as training tables
    adaptive.py                where predictors know least
    reached.py                 how good predictors are by now
    estimate.py                how long a sweep takes
    session.py, record.py      the sweep itself
"""
