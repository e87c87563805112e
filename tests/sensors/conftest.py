"""Fixtures of sensors."""

from __future__ import annotations

import os

import pytest
from failing_files import FailingFiles


@pytest.fixture
def failing_files(monkeypatch: pytest.MonkeyPatch) -> FailingFiles:
    files = FailingFiles()
    monkeypatch.setattr(os, "open", files.open(os.open))
    monkeypatch.setattr(os, "pread", files.pread(os.pread))
    return files
