"""Measured networks as tables of layer features, power and runtime."""
