"""Families of networks: designs whose members resemble each other more than they resemble any other network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from edgewatt.errors import EdgewattError
from edgewatt.formats.run_folders import network_of

#: What a name of a family begins with, longer ones first so that a `resnext` is no `resnet`. Wide ResNets are ResNets.
_FAMILIES = (
    *("alexnet", "convnext", "densenet", "efficientnet", "googlenet", "inception", "lenet", "mnasnet", "mobilenet"),
    *("regnet", "resnext", "resnet", "shufflenet", "squeezenet", "vgg", "yolo"),
)
_ALIASES = {"wide_resnet": "resnet", "wideresnet": "resnet"}


def family(network: str) -> str:
    """The family of a network by its name; a name of none is a family of its own.

    A board's folder before the name does not count. What stands behind an `@` says how a network was recorded, and a
    number or letter at the end which member it is.
    """
    name = network_of(network).lower()
    for prefix, known in (*_ALIASES.items(), *((known, known) for known in _FAMILIES)):
        if name.startswith(prefix):
            return known
    return re.sub(r"[\d._-]+.*$", "", name) or name


def families(networks: Sequence[str], named: Mapping[str, str] | None = None) -> dict[str, str]:
    """The family of each network.

    Args:
        networks: Names of networks.
        named: Families that the caller knows better, by run or by network.
    """
    known = named or {}
    return {name: known.get(name) or known.get(network_of(name)) or family(name) for name in networks}


def named_families(values: Sequence[str]) -> dict[str, str]:
    """Families given as `NETWORK=FAMILY`.

    Raises:
        EdgewattError: A value is not of that form.
    """
    named = {}
    for value in values:
        network, equals, its_family = value.partition("=")
        if not (network and equals and its_family):
            raise EdgewattError(f"{value!r} names no family", fix="Write NETWORK=FAMILY")
        named[network] = its_family
    return named
