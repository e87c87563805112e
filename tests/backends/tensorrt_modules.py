"""NVIDIA's libraries that run without a GPU, where they are installed."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest


def tensorrt_module(name: str) -> ModuleType:
    """`tensorrt_lean` (its profiler) or `tensorrt_rtx` (profiler and builder); the test is skipped without it."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:
        pytest.skip(f"{name} is not installed: {error}")
