"""Cases for the rules about monitoring: each a fault and its cure."""

from __future__ import annotations

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case

EXTERNAL = {"host": "ctl.example.org"}

STATUS = {
    "image": "registry.example.org/slinky-iac:0.1.0",
    "serviceAccount": "slinky-status",
    "folder": "/var/lib/node_exporter",
}

CASES = [
    Case(
        "NetworkPolicies let Prometheus reach slurmctld",
        minimal(monitoring={"slurmctld": True}, networkPolicies={"enabled": True}),
        "error",
        "monitoring.slurmctld",
        ("networkPolicies.clients.slurmctld",),
        {"networkPolicies": {"clients": {"slurmctld": [{"namespace": "monitoring"}]}}},
    ),
    Case(
        "an outside slurmctld with a name is scraped by its address",
        minimal(monitoring={"slurmctld": True}, controller={"external": EXTERNAL}, keys={"source": "imported"}),
        "error",
        "monitoring.slurmctldAddress",
        ("ctl.example.org", "IP address"),
        {"monitoring": {"slurmctldAddress": "192.0.2.10"}},
    ),
    Case(
        "clients of a munge cluster have nothing to monitor",
        minimal(keys={"auth": "auth/munge"}, monitoring={"dashboard": True}),
        "error",
        "monitoring",
        ("has no effect", "auth/munge"),
        {"monitoring": {"dashboard": False}},
    ),
    Case(
        "a schedule that isn't cron's is refused by the API server alone",
        minimal(monitoring={"status": STATUS | {"schedule": "*/5 24 * * *"}}),
        "error",
        "monitoring.status.schedule",
        ("has 24", "from 0 to 23", "half done"),
        {"monitoring": {"status": {"schedule": "*/5 23 * * *"}}},
    ),
]
TOLD = [
    Case(
        "a status that the alerts would call missing",
        minimal(monitoring={"rules": True, "status": STATUS | {"schedule": "0 */2 * * *"}}),
        "warning",
        "monitoring.status.schedule",
        ("120 minutes", "older than 30 minutes"),
        {"monitoring": {"status": {"schedule": "*/15 * * * *"}}},
    ),
    Case(
        "a status that the alerts would call missing on a Sunday",
        minimal(monitoring={"rules": True, "status": STATUS | {"schedule": "*/5 * * * mon-fri,6"}}),
        "warning",
        "monitoring.status.schedule",
        ("leaves days out",),
        {"monitoring": {"rules": False}},
    ),
]
