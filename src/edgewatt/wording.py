"""Numbers in sentences."""

from __future__ import annotations


def counted(number: int, noun: str, verbs: tuple[str, str] | None = None) -> str:
    """How many there are of something: `1 layer`, `2,048 layers`.

    Args:
        number: How many.
        noun: What, in the singular; its plural has an s.
        verbs: What follows for one and for several: `("is", "are")`.
    """
    alone = number == 1
    text = f"{number:,} {noun}" if alone else f"{number:,} {noun}s"
    return text if verbs is None else f"{text} {verbs[0 if alone else 1]}"
