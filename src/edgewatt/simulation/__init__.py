"""The simulated board: recordings whose true layer powers are known."""
