"""Whether this machine forwards packets: on while the lab is up, as it was before when the lab is down."""

from pathlib import Path

from lab import paths

SWITCH = Path("/proc/sys/net/ipv4/ip_forward")
BEFORE = paths.STATE / "ip_forward.before"


def on() -> None:
    """Switch forwarding on; what it was is written down first, once."""
    if not BEFORE.exists():
        BEFORE.parent.mkdir(parents=True, exist_ok=True)
        new = BEFORE.with_suffix(".new")
        new.write_text(SWITCH.read_text())
        new.rename(BEFORE)
    if SWITCH.read_text().strip() != "1":
        SWITCH.write_text("1\n")


def forget() -> None:
    """Put nothing back: what was written down was another network namespace's, which is gone."""
    BEFORE.unlink(missing_ok=True)


def restore() -> None:
    """Put back what was written down. Nothing was, nothing is done."""
    if BEFORE.exists():
        SWITCH.write_text(BEFORE.read_text())
        BEFORE.unlink()
