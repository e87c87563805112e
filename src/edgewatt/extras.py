"""Optional tools, which are imported where they are used and checked before."""

from __future__ import annotations

import importlib.util

from edgewatt.errors import EdgewattError


def check_extra(module: str, extra: str, missing: str) -> None:
    """Check that an optional tool is installed, without importing it.

    Args:
        module: The module that is imported.
        extra: The extra of edgewatt that installs it.
        missing: What to say where it is not installed.

    Raises:
        EdgewattError: It is not installed.
    """
    found = importlib.util.find_spec(module)
    # A folder of that name that merely lies about has no origin.
    if found is None or found.origin is None:
        raise EdgewattError(missing, fix=f"pip install 'edgewatt[{extra}]'")
