"""Boards: how each family names itself, which rails it has, and which of them is its input.

Adding up every rail counts most boards' power twice, because some rails feed others. So the input is a table's
matter, one entry a family, and a board that is in no entry has none until the user names it.

Sources:

- [guide] NVIDIA, Jetson Linux developer guides 32.6.1 and 34.1, power monitors of each module.
- [dts] The kernel's arch/arm64/boot/dts/nvidia: names of boards and modules, 5 mOhm shunts on p3767, 2 mOhm on p3701.
- [design] NVIDIA, Jetson AGX Xavier design guide DG-09840: 5 mOhm shunts.
- [forum N] NVIDIA developer forum, thread N, answers by NVIDIA.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from edgewatt.sensors.files import read_text

_DEVICE_TREE = ("proc/device-tree", "sys/firmware/devicetree/base")
_PART = re.compile(r"p\d{4}(?:-\d{4})?")
_DMI = ("sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name")


@dataclass(frozen=True)
class TotalRule:
    """Rails whose sum is a board's input.

    Attributes:
        rails: Their labels.
        reason: Why they are.
    """

    rails: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class BoardFamily:
    """Boards with the same rails.

    Attributes:
        name: The family's name.
        parts: Numbers of modules and developer kits in the device tree's `compatible`, such as p3767; with the
            variant behind it where only that variant is meant.
        models: Words of which one is in the device tree's `model`, in small letters; asked where no part is known.
        rails: Labels that these boards have.
        totals: The input: the first rule whose rails are all there. None for a board without a sensor.
        current_step_a: Smallest difference of two currents in A, where the shunts are published.
    """

    name: str
    parts: tuple[str, ...]
    models: tuple[str, ...]
    rails: tuple[str, ...] = ()
    totals: tuple[TotalRule, ...] = ()
    current_step_a: float | None = None


@dataclass(frozen=True)
class Board:
    """The board at hand.

    Attributes:
        name: What it calls itself.
        family: Its family, or None for one that the table does not know.
        has_device_tree: Whether it told what it is; containers hide the device tree, and PCs have none.
    """

    name: str
    family: BoardFamily | None
    has_device_tree: bool = True

    def find_total(self, labels: Sequence[str]) -> TotalRule | None:
        """The rule for the board's input that fits the rails found, or None."""
        rules = () if self.family is None else self.family.totals
        return next((rule for rule in rules if set(rule.rails) <= set(labels)), None)


_MODULE_INPUT = "VDD_IN is the module's input and feeds the other rails; the carrier board's own draw is not in it"
_WITH_CARRIER = TotalRule(
    ("VDD_IN", "VDD_MUX"),
    "VDD_IN feeds the module and VDD_MUX the carrier board, side by side; both together are the board's input",
)
_MODULE = TotalRule(("VDD_IN",), _MODULE_INPUT)
_TX1_CARRIER_RAILS = ("VDD_MUX", "VDD_5V_IO_SYS", "VDD_3V3_SYS", "VDD_3V3_IO", "VDD_1V8_IO", "VDD_M2_IN")
_TX2_CARRIER_RAILS = ("VDD_MUX", "VDD_5V0_IO_SYS", "VDD_3V3_SYS", "VDD_3V3_IO_SLP", "VDD_1V8_IO", "VDD_3V3_SYS_M2")
_AGX_ORIN_RAILS = ("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0")
_AGX_ORIN_TOTAL = TotalRule(
    _AGX_ORIN_RAILS,
    "there is no rail above these three, which together are the module's input; VDDQ_VDD2_1V8AO is fed by VIN_SYS_5V0 "
    "and is not added",
)
_AGX_XAVIER_RAILS = ("GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V")

#: Where two entries fit, the longer part number wins, then the earlier entry.
FAMILIES: tuple[BoardFamily, ...] = (
    BoardFamily("Jetson Nano 2GB", ("p3448-0003", "p3541", "p3542"), ("nano 2gb",)),
    BoardFamily(
        "Jetson Nano",
        ("p3448", "p3450", "p3449"),
        ("jetson nano",),
        ("POM_5V_IN", "POM_5V_GPU", "POM_5V_CPU"),
        (TotalRule(("POM_5V_IN",), "POM_5V_IN is the board's input and feeds the other two"),),  # [forum 73608]
    ),
    BoardFamily(
        "Jetson TX1",
        ("p2180", "p2371-2180", "p2597-2180"),
        ("jetson tx1", "jetson_tx1"),
        ("VDD_IN", "VDD_GPU", "VDD_CPU", *_TX1_CARRIER_RAILS),
        (_WITH_CARRIER, _MODULE),  # [guide]
    ),
    BoardFamily(
        "Jetson TX2 NX",
        ("p3636",),
        ("tx2 nx",),
        ("VDD_IN", "VDD_CPU_GPU", "VDD_SOC"),
        (_MODULE,),  # [guide]
    ),
    BoardFamily(
        "Jetson TX2",
        ("p3310", "p3489", "p2771"),
        ("jetson tx2", "quill"),
        ("VDD_IN", "VDD_SYS_GPU", "VDD_SYS_SOC", "VDD_4V0_WIFI", "VDD_SYS_CPU", "VDD_SYS_DDR", *_TX2_CARRIER_RAILS),
        (_WITH_CARRIER, _MODULE),  # [forum 201037]
    ),
    BoardFamily(
        "Jetson Xavier NX",
        ("p3668",),
        ("xavier nx",),
        ("VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"),
        (_MODULE,),  # [forum 200883]
    ),
    BoardFamily(
        "Jetson AGX Xavier",
        ("p2888", "p2972"),
        ("agx xavier", "jetson-agx"),
        _AGX_XAVIER_RAILS,
        (TotalRule(_AGX_XAVIER_RAILS, "there is no rail above these six, which together are the module's input"),),
        current_step_a=0.008,  # [design]; the sum: [forum 81016]
    ),
    BoardFamily(
        "Jetson Orin Nano / Orin NX",
        ("p3767",),
        ("orin nano", "orin nx"),
        ("VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"),
        (_MODULE,),  # [forum 242804]
        current_step_a=0.008,  # [dts]
    ),
    BoardFamily(
        "IGX Orin",
        ("p3740", "p3701-0002", "p3701-0008"),
        ("igx orin",),
        (*_AGX_ORIN_RAILS, "VDDQ_VDD2_1V8AO"),
        (_AGX_ORIN_TOTAL,),
        current_step_a=0.02,
    ),
    BoardFamily(
        "Jetson AGX Orin",
        ("p3701", "p3737"),
        ("agx orin",),
        (*_AGX_ORIN_RAILS, "VDDQ_VDD2_1V8AO"),
        (_AGX_ORIN_TOTAL,),  # [forum 217088], [forum 223111]
        current_step_a=0.02,  # [dts]
    ),
    BoardFamily(
        "Jetson AGX Thor",
        ("p3834", "p3971"),
        ("thor",),
        ("VDD_GPU", "VDD_CPU_SOC_MSS", "VIN_SYS_5V0", "VIN"),
        (
            TotalRule(("VIN",), "VIN is the input of module and carrier board and feeds the other rails"),
        ),  # [forum 366461]
        current_step_a=0.02,  # steps of real logs, 40 uV over 2 mOhm
    ),
)


def identify_board(root: Path) -> Board:
    """Which board this is.

    Module numbers in `compatible` are asked first: makers of carrier boards change `model` as they like. Where there is
    no device tree, the firmware's product name stands for `model`, as newer Jetsons have it.

    Args:
        root: Root folder.
    """
    model = _device_tree_text(root, "model")
    compatible = _device_tree_text(root, "compatible")
    name = model or _dmi_name(root)
    family = _by_parts(_PART.findall(compatible or "")) or _by_model(name or "")
    return Board(name or "unknown board", family, has_device_tree=bool(model or compatible))


def tell_by_rails(labels: Sequence[str]) -> Board | None:
    """The board that a board without a device tree must be, by its rails: docker hides the tree of the host.

    Args:
        labels: Labels of the rails found; more than one, because a lone VDD_IN may be anything's.

    Returns:
        A board, or None where some label is no family's or the families that fit differ in their input.
    """
    fits = [f for f in FAMILIES if len(labels) > 1 and set(labels) <= set(f.rails) and Board("", f).find_total(labels)]
    if len({Board("", family).find_total(labels) for family in fits}) != 1:
        return None
    name = " or ".join(family.name for family in fits)
    steps = {family.current_step_a for family in fits}
    step_a = steps.pop() if len(steps) == 1 else None
    return Board(name, replace(fits[0], name=name, current_step_a=step_a), has_device_tree=False)


def _by_parts(parts: Sequence[str]) -> BoardFamily | None:
    # Of equal length the earlier entry of the table: max keeps the first.
    fits = [(len(own), family) for family in FAMILIES for own in family.parts if any(p.startswith(own) for p in parts)]
    return max(fits, key=lambda fit: fit[0])[1] if fits else None


def _by_model(model: str) -> BoardFamily | None:
    small = model.casefold()
    return next((family for family in FAMILIES if any(word in small for word in family.models)), None)


def _device_tree_text(root: Path, name: str) -> str | None:
    return next((text for folder in _DEVICE_TREE if (text := read_text(root / folder / name))), None)


def _dmi_name(root: Path) -> str | None:
    return " ".join(text for path in _DMI if (text := read_text(root / path))) or None
