"""Which edgewatt this is: two of the same version may still be different code."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import edgewatt


@cache
def source_digest() -> str:
    """SHA-256 of the package's Python files, with their names."""
    folder = Path(edgewatt.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
