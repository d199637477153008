"""Cases for the rules about monitoring: each a fault and its cure."""

from __future__ import annotations

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case

EXTERNAL = {"host": "ctl.example.org"}

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
]
