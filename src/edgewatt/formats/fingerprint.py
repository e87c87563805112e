"""A fingerprint of data, by which work on the same data is told from work on other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from edgewatt.errors import EdgewattError


def data_fingerprint(folder: Path, networks: Sequence[str] | None = None) -> str:
    """Fingerprint a folder by the names and contents of its files, wherever it lies.

    Args:
        folder: The folder; files whose name starts with a dot do not count.
        networks: Only these folders in it; None for all that is there.

    Returns:
        32 hexadecimal digits: the beginning of a SHA-256.

    Raises:
        EdgewattError: A file cannot be read.
    """
    total = hashlib.sha256()
    try:
        for path in sorted(folder.rglob("*")):
            parts = path.relative_to(folder).parts
            hidden = any(part.startswith(".") for part in parts)
            # A network's folder may lie in its board's.
            known = networks is None or parts[0] in networks or "/".join(parts[:2]) in networks
            if hidden or not path.is_file() or not known:
                continue
            name = "/".join(parts).encode("utf-8", "surrogateescape")
            # Each part has the same length, so that no two folders make the same row of bytes.
            total.update(hashlib.sha256(name).digest() + hashlib.sha256(path.read_bytes()).digest())
    except OSError as error:
        raise EdgewattError.of_system(error) from error
    return total.hexdigest()[:32]
