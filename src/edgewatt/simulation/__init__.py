"""The simulated board: recordings whose true layer powers are known.

It shares no code with the mapping that is validated on it. `simulate.simulate` writes raw data folders,
`recording.simulate_network` keeps a recording in memory, `settings` holds what can be varied.
"""
