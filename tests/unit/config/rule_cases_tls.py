"""Cases for the rules about TLS: each a fault and its cure."""

from __future__ import annotations

from tests.stacks import minimal
from tests.unit.config.rule_cases import Case

URL = {"url": "https://slurmrestd.example.org:6820"}
MINE = {"clientCertFile": "gate.crt", "clientKeyFile": "gate.key"}

TLS = [
    Case(
        "a client certificate without its key",
        minimal(slurmrest=URL | {"clientCertFile": "gate.crt"}),
        "error",
        "slurmrest.clientCertFile",
        ("clientKeyFile is not",),
        {"slurmrest": MINE},
    ),
    Case(
        "a client key without its certificate",
        minimal(slurmrest=URL | {"clientKeyFile": "gate.key"}),
        "error",
        "slurmrest.clientKeyFile",
        ("clientCertFile is not",),
        {"slurmrest": MINE},
    ),
    Case(
        "a client certificate through the API server",
        minimal(slurmrest=MINE),
        "error",
        "slurmrest.clientCertFile",
        ("slurmrest.url", "https://"),
        {"slurmrest": URL},
    ),
    Case(
        "a client certificate over plain http",
        minimal(external={"slurmrestd": MINE | {"url": "http://slurmrestd.example.org:6820"}}),
        "error",
        "external.slurmrestd.clientCertFile",
        ("external.slurmrestd.url", "https://"),
        {"external": {"slurmrestd": URL}},
    ),
]
