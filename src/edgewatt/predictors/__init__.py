"""Predictors of a layer's power and runtime."""
