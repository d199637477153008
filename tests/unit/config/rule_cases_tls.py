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
DATABASE = {"database": {"host": "db.example.org", "tls": {"caSecret": "database-ca"}}, "enabled": True}

TLS += [
    Case(
        "StorageParameters twice",
        minimal(accounting=DATABASE | {"extraConf": {"storageParameters": "SSL_CA=/etc/ca.pem"}}),
        "error",
        "accounting.extraConf.storageParameters",
        ("accounting.database.tls", "Remove one"),
        {"accounting": {"extraConf": {"storageParameters": None}}},
    ),
]
PLAIN = {"url": "http://slurmrestd.example.org:6820"}
CA = {"caFile": "ca.pem"}

TLS += [
    Case(
        "tokens over plain http",
        minimal(slurmrest=PLAIN),
        "error",
        "slurmrest.url",
        ("token of slurm", "jobs are lost", "https", "API server", "slurmrest.allowPlainHttp: true"),
        {"slurmrest": {"url": "https://slurmrestd.example.org:6820"}},
    ),
    Case(
        "tokens of another user over plain http",
        minimal(slurmrest={"url": "http://192.0.2.7:6820", "user": "drainer"}),
        "error",
        "slurmrest.url",
        ("token of drainer",),
        {"slurmrest": {"allowPlainHttp": True, "user": "slurm"}},
    ),
    Case(
        "a certificate authority for plain http",
        minimal(slurmrest=PLAIN | CA | {"allowPlainHttp": True}),
        "error",
        "slurmrest.caFile",
        ("is not used", "https://"),
        {"slurmrest": {"caFile": None}},
    ),
    Case(
        "a certificate authority for users' plain http",
        minimal(external={"slurmrestd": PLAIN | CA}),
        "error",
        "external.slurmrestd.caFile",
        ("is not used", "https://"),
        {"external": {"slurmrestd": URL}},
    ),
]
TLS_TOLD = [
    Case(
        "users' tokens over plain http",
        minimal(external={"slurmrestd": PLAIN}),
        "warning",
        "external.slurmrestd.url",
        ("everybody who uses it", "preflight sends no token over it", "https"),
        {"external": {"slurmrestd": URL}},
    ),
    Case(
        "users' tokens over plain http, and preflight's",
        minimal(external={"slurmrestd": PLAIN | {"allowPlainHttp": True}}, slurmrest={"user": "drainer"}),
        "warning",
        "external.slurmrestd.url",
        ("preflight sends the token of drainer",),
        {"external": {"slurmrestd": {"allowPlainHttp": False}}},
    ),
    Case(
        "plain http that was accepted",
        minimal(slurmrest=PLAIN | {"allowPlainHttp": True}),
        "warning",
        "slurmrest.url",
        ("token of slurm", "jobs are lost", "https"),
        {"slurmrest": URL},
    ),
    Case(
        "Slurm's own TLS",
        minimal(controller={"extraConf": {"TLSType": "tls/s2n"}}),
        "warning",
        "controller.extraConf.TLSType",
        ("tls/s2n", "Failed to initialize tls plugin", "slinky docs tls"),
        {"controller": {"extraConf": {"TLSType": "tls/none"}}},
    ),
]
