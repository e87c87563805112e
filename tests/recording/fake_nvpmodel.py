"""A machine with power modes: /etc/nvpmodel.conf and a program that switches as nvpmodel does, in a folder."""

from __future__ import annotations

from pathlib import Path

_CONFIGURATION = """\
# comment < POWER_MODEL ID=9 NAME=COMMENTED >
< PARAM TYPE=CLOCK NAME=GPU >
MAX_FREQ /sys/devices/gpu/max_freq

< POWER_MODEL ID=0 NAME=15W >
CPU_ONLINE CORE_0 1
CPU_ONLINE CORE_1 1
TPC_POWER_GATING TPC_PG_MASK 240
GPU MAX_FREQ 612000000

< POWER_MODEL ID=1 NAME=25W >
CPU_ONLINE CORE_0 1
CPU_ONLINE CORE_1 1
TPC_POWER_GATING TPC_PG_MASK 240
GPU MAX_FREQ 918000000

< POWER_MODEL ID=3 NAME=7W >
CPU_ONLINE CORE_0 1
CPU_ONLINE CORE_1 0
TPC_POWER_GATING TPC_PG_MASK 252
GPU MAX_FREQ 408000000

< PM_CONFIG DEFAULT=0 >
"""

#: Mode 3 asks for a restart, and a yes would be noted in `restarted`.
_PROGRAM = """\
#!/bin/sh
root=$(cd "$(dirname "$0")/../.." && pwd)
status=$root/var/lib/nvpmodel/status
now=$(sed 's/pmode://' "$status")
case $1 in
-q)
  echo "NVPM WARN: fan mode is not set!"
  case $now in 0) echo "NV Power Mode: 15W";; 1) echo "NV Power Mode: 25W";; 3) echo "NV Power Mode: 7W";; esac
  echo "$now" ;;
-m)
  echo "$2" >> "$root/switched"
  if [ -e "$root/refuses" ]; then echo "NVPM ERROR: failed to open the configuration"; exit 1; fi
  if [ "$2" = 3 ]; then
    echo "NVPM WARN: Reboot required for changing to this power mode: 3"
    echo "NVPM WARN: DO YOU WANT TO REBOOT NOW? enter YES/yes to confirm:"
    read -r answer
    case $answer in YES|yes) touch "$root/restarted";; esac
    echo "NVPM ERROR: optMask is 1, no request for power mode"
    exit 1
  fi
  echo "pmode:$2" > "$status" ;;
esac
"""


class FakeMachine:
    """The machine; it is in 15W."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("etc", "usr/sbin", "usr/bin", "var/lib/nvpmodel"):
            (root / folder).mkdir(parents=True)
        (root / "etc/nvpmodel.conf").write_text(_CONFIGURATION)
        (root / "var/lib/nvpmodel/status").write_text("pmode:0\n")
        self._program("usr/sbin/nvpmodel", _PROGRAM)
        self._program("usr/bin/jetson_clocks", '#!/bin/sh\ntouch "$(dirname "$0")/../../locked"\n')

    def _program(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)
        (self.root / name).chmod(0o755)

    def with_clocks(self, *, locked: bool) -> FakeMachine:
        """Give it one processor's clock."""
        folder = self.root / "sys/devices/system/cpu/cpu0/cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_min_freq").write_text("1510400\n" if locked else "729600\n")
        (folder / "scaling_max_freq").write_text("1510400\n")
        return self

    @property
    def mode(self) -> int:
        """Number of the mode that it is in."""
        return int((self.root / "var/lib/nvpmodel/status").read_text().strip().removeprefix("pmode:"))

    @property
    def switched(self) -> list[int]:
        """Numbers of the modes that were asked for."""
        path = self.root / "switched"
        return [int(line) for line in path.read_text().split()] if path.exists() else []
