"""Cases for the rules about TLS: each a fault and its cure."""

from __future__ import annotations

from typing import Any

from tests.stacks import merged, minimal
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
OWN_TLS: dict[str, Any] = {"database": {"host": "db.example.org"}, "enabled": True}
OF_OTHERS: dict[str, Any] = {
    "cluster": {"name": "lab", "createNamespace": False},
    "accounting": {"database": {"passwordFrom": {"secret": "database"}}},
}


def _storage(parameters: str, **more: object) -> dict[str, Any]:
    return minimal(accounting=OWN_TLS | {"extraConf": {"StorageParameters": parameters}} | more)


WITH_CA = {
    "pod": {"volumes": [{"name": "ca", "secret": {"secretName": "database-ca"}}]},
    "container": {"volumeMounts": [{"name": "ca", "mountPath": "/ca"}]},
}
TLS += [
    Case(
        f"StorageParameters with {what} that the pod doesn't have",
        _storage(parameters),
        "error",
        "accounting.extraConf.StorageParameters",
        (
            f"has {option}=",
            "slurmdbd reaches no database",
            f"accounting.database.tls.{setting}",
            "accounting.raw.pod.volumes",
        ),
        {"accounting": cure},
    )
    for what, parameters, option, setting, cure in (
        ("a CA", "SSL_CA=/etc/ca.pem", "SSL_CA", "caSecret", {"extraConf": None} | DATABASE),
        ("a CA in quotes", '"SSL_CIPHER=HIGH,ssl_ca=/ca/ca.crt"', "ssl_ca", "caSecret", {"raw": WITH_CA}),
        ("a CA in /etc/slurm", "SSL_CA=/etc/slurm/ca.crt", "SSL_CA", "caSecret", {"extraConf": None} | DATABASE),
        ("CAs", "SSL_CAPATH=/ca", "SSL_CAPATH", "caSecret", {"raw": WITH_CA}),
        ("a certificate", "SSL_CERT=/ca/tls.crt", "SSL_CERT", "clientSecret", {"raw": WITH_CA}),
        ("a key", "SSL_CA=/etc/ssl/certs/a.pem,SSL_KEY=/tls.key", "SSL_KEY", "clientSecret", {"extraConf": None}),
    )
]
TLS_TOLD_OF_DATABASE = [
    Case(
        f"StorageParameters with {what}",
        _storage(f"SSL_CIPHER=HIGH,{option}"),
        "warning",
        "accounting.extraConf.StorageParameters",
        ("slurmdbd leaves out", "SSL_CA, SSL_CAPATH, SSL_CERT, SSL_CIPHER and SSL_KEY"),
        {"accounting": {"extraConf": {"StorageParameters": "SSL_CIPHER=HIGH"}}},
    )
    for what, option in (("a word that isn't one", "SSL_CAA=/ca"), ("an option without a value", "SSL_VERIFY"))
]
TLS_SOUND = {
    name: merged(stack, OF_OTHERS)
    for name, stack in (
        ("a public CA of the image for the database", _storage("SSL_CA=/etc/ssl/certs/ca-certificates.crt")),
        ("a CA in a volume for the database", _storage("SSL_CA=/ca/ca.crt", raw=WITH_CA)),
        (
            "a CA in an image of the site's",
            merged(
                _storage("SSL_CA=/opt/site/ca.pem"),
                {"cluster": {"images": {"slurmdbd": "registry.example.org/slurmdbd:26.05-ubuntu24.04"}}},
            ),
        ),
    )
}
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
TLS_TOLD += TLS_TOLD_OF_DATABASE
