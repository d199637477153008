"""Where the lab keeps things on this machine. Everything under STATE is removed by `lab down`; CACHE survives."""

import os
import zlib
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
USUAL_STATE = Path("/var/lib/slinky-lab")
STATE = Path(os.environ.get("SLINKY_LAB_STATE") or USUAL_STATE)
CGROUP = "slinky-lab" if STATE == USUAL_STATE else f"slinky-lab-{zlib.crc32(bytes(STATE)):08x}"
"""Top cgroup of this lab's pods. A lab elsewhere (a test, in a network namespace of its own) has another one."""
CACHE = Path(os.environ.get("SLINKY_IAC_CACHE") or Path.home() / ".cache" / "slinky-iac")
LOGS = STATE / "logs"
RUN = STATE / "run"
"""One JSON file a supervised process (lab.supervise)."""
KUBECONFIG = STATE / "kubeconfig"
HOSTS = STATE / "hosts"
"""Names of the outside hosts in /etc/hosts form: lab.slurm writes it, CoreDNS serves it."""
