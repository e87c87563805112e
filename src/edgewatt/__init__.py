"""Watts, milliseconds and millijoules of each layer of a CNN on an edge device, measured and predicted."""

__version__ = "0.1.0"
