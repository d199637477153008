"""Which daemon runs on which host, with what command, as whom, and when it counts as up. Mostly data.

Slurm's daemons are started by absolute path, since they re-execute themselves by the path they were given when
slurmctld sends a new configuration; sackd does not look it up and dies ("execv() failed").
"""

import socket
import urllib.error
import urllib.request
from dataclasses import dataclass
from enum import Enum

from lab.slurm import conf
from lab.slurm.hosts import Hosts

SOCKET = "/run/mysqld/mysqld.sock"
SACK = "run/slurm/sack.socket"


class Ready(Enum):
    """How a daemon shows that it is up."""

    HTTP = "GET /readyz on its own port answers 2xx (slurmctld and slurmd, 25.11 and newer)"
    TCP = "its port accepts"
    DATABASE = "mariadb-admin ping"
    SACK = "sackd's socket is there"


@dataclass(frozen=True)
class Daemon:
    """One daemon on one host. `user` None: it starts as root and becomes whom its own configuration says."""

    host: str
    name: str
    argv: tuple[str, ...]
    ready: Ready
    port: int = 0
    user: str | None = None
    seconds: float = 60.0


def _slurmctld(host: str, ready: Ready) -> Daemon:
    # A state folder without all of a saved state is "corrupt" to a slurmctld that was killed in its first seconds (fatal: No
    # job state file, No reservation state file); -i then.
    saved = " && ".join(f"[ -e {conf.STATE_SAVE}/{name} ]" for name in ("job_state", "resv_state"))
    script = f"{saved} && exec /usr/sbin/slurmctld -D; exec /usr/sbin/slurmctld -D -i"
    return Daemon(host, "slurmctld", ("sh", "-c", script), ready, conf.CTLD_PORT)


def slurmd(host: str) -> Daemon:
    """slurmd of a bare-metal host: configless, nothing in /etc/slurm but the key."""
    argv = ("/usr/sbin/slurmd", "-D", "--conf-server", f"ctl:{conf.CTLD_PORT}")
    return Daemon(host, "slurmd", argv, Ready.HTTP, conf.SLURMD_PORT)


MARIADB = Daemon(
    "dbd",
    "mariadbd",
    (
        "mariadbd", "--user=mysql", f"--socket={SOCKET}", "--bind-address=0.0.0.0", "--skip-name-resolve",
        "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M", "--innodb-lock-wait-timeout=900",
        "--innodb-flush-log-at-trx-commit=0", "--innodb-snapshot-isolation=OFF",
    ),
    Ready.DATABASE,
)  # fmt: skip
SLURMDBD = Daemon("dbd", "slurmdbd", ("/usr/sbin/slurmdbd", "-D"), Ready.TCP, conf.DBD_PORT)
SLURMCTLD = _slurmctld("ctl", Ready.HTTP)
BACKUP = _slurmctld("ctl-2", Ready.TCP)  # /readyz says no until it has taken over
SLURMRESTD = Daemon(
    "rest",
    "slurmrestd",
    (
        "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
        "env", "SLURM_JWT=daemon", "SLURMRESTD_SECURITY=disable_unshare_files,disable_unshare_sysv",
        "/usr/sbin/slurmrestd", f"0.0.0.0:{conf.REST_PORT}",
    ),
    Ready.TCP,
    conf.REST_PORT,
)  # fmt: skip
# sackd wants a folder of SlurmUser's own; slurmd, on its hosts, wants the same folder to be root's.
_SACKD = f"""install -d -o slurm -g slurm -m 755 /run/slurm
exec setpriv --reuid=slurm --regid=slurm --clear-groups /usr/sbin/sackd -D --conf-server ctl:{conf.CTLD_PORT}"""
SACKD = Daemon("login-1", "sackd", ("sh", "-c", _SACKD), Ready.SACK)


def is_ready(hosts: Hosts, daemon: Daemon, address: str) -> bool:
    """Ask once; an answer that does not come is a no."""
    match daemon.ready:
        case Ready.HTTP:
            return http_status(f"http://{address}:{daemon.port}/readyz") in range(200, 300)
        case Ready.TCP:
            return _accepts(address, daemon.port)
        case Ready.DATABASE:
            ping = ["mariadb-admin", f"--socket={SOCKET}", "ping"]
            return hosts.run(daemon.host, ping, check=False).returncode == 0
        case Ready.SACK:
            return hosts.inside(daemon.host, SACK).is_socket()


def http_status(url: str) -> int | None:
    """The status of a GET, None without an answer."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=2) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


def _accepts(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=1):
            return True
    except OSError:
        return False
