"""Where the lab keeps things on this machine. Everything under STATE is removed by `lab down`; CACHE survives."""

import os
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
STATE = Path(os.environ.get("SLINKY_LAB_STATE") or "/var/lib/slinky-lab")
CACHE = Path(os.environ.get("SLINKY_IAC_CACHE") or Path.home() / ".cache" / "slinky-iac")
LOGS = STATE / "logs"
RUN = STATE / "run"
"""One JSON file a supervised process (lab.supervise)."""
KUBECONFIG = STATE / "kubeconfig"
HOSTS = STATE / "hosts"
"""Names of the outside hosts in /etc/hosts form: lab.slurm writes it, CoreDNS serves it."""
