"""How many inotify instances root may have: a machine's usual 128 is too few for a second lab (each kubelet and containerd
takes a dozen), and a kubelet that gets none ends. Raised while any lab is up, as it was before when the last one is down.
"""

from collections.abc import Callable
from pathlib import Path

from lab import locks, paths

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
ENOUGH = 4096
USERS = Path("/run/slinky-lab-inotify")
"""One file a lab that is up, holding the machine's own limit; /run is empty after a reboot, as the raised limit is gone."""


def enough(limit: Path = LIMIT, users: Path = USERS, lab: str = paths.CGROUP) -> None:
    """Raise the limit for this lab; what it was is written down first, once for all labs."""
    with locks.alone("inotify", lambda: None):
        users.mkdir(parents=True, exist_ok=True)
        noted = [file.read_text() for file in users.iterdir()]
        before = noted[0] if noted else limit.read_text()
        (users / lab).write_text(before)
        if int(limit.read_text()) < ENOUGH:
            limit.write_text(f"{ENOUGH}\n")


def restore(
    limit: Path = LIMIT, users: Path = USERS, lab: str = paths.CGROUP, *, last: Callable[[], None] = lambda: None
) -> None:
    """Put back the machine's own limit if this was the last lab, where it was raised.

    ``last`` is called then, while no other lab can begin: it takes away what all labs share.
    """
    with locks.alone("inotify", lambda: None):
        mine = users / lab
        before = mine.read_text() if mine.exists() else None
        mine.unlink(missing_ok=True)
        if users.exists() and any(users.iterdir()):
            return
        last()
        if before is not None:
            limit.write_text(before)
            users.rmdir()
