"""TLS from slurmdbd to its database, as the Accounting has it."""

from __future__ import annotations

import pytest

from slinky_iac.config.reading.load import load
from slinky_iac.specs.daemons import accounting_spec
from tests.crds import SERVED, faults
from tests.stacks import minimal

DATABASE = {"host": "db.example.org", "tls": {"caSecret": "db-ca", "clientSecret": "db-client"}}


@pytest.mark.parametrize("version", SERVED)
def test_the_crds_take_it(version: str) -> None:
    config = load(minimal(operator={"version": version}, accounting={"database": DATABASE}))
    assert faults(version, "Accounting", accounting_spec(config)) == []


def test_slurmdbd_is_given_the_databases_authority_and_its_own_certificate() -> None:
    """Not optional: a pod without the files waits, where it would else go on in plain text."""
    spec = accounting_spec(load(minimal(accounting={"database": DATABASE, "extraConf": {"PurgeJobAfter": "12months"}})))
    ca, client = "/etc/slinky-database-tls/ca", "/etc/slinky-database-tls/client"
    assert spec["extraConf"].splitlines() == [
        "PurgeJobAfter=12months",
        f"StorageParameters=SSL_CA={ca}/ca.crt,SSL_CERT={client}/tls.crt,SSL_KEY={client}/tls.key",
    ]
    assert spec["slurmdbd"]["volumeMounts"] == [
        {"name": "slinky-database-ca", "mountPath": ca, "readOnly": True},
        {"name": "slinky-database-client", "mountPath": client, "readOnly": True},
    ]
    files = [{"key": entry, "path": entry} for entry in ("ca.crt", "tls.crt", "tls.key")]
    assert spec["template"]["spec"]["volumes"] == [
        {"name": "slinky-database-ca", "secret": {"secretName": "db-ca", "items": files[:1], "defaultMode": 0o440}},
        {"name": "slinky-database-client", "secret": {"secretName": "db-client", "items": files[1:], "defaultMode": 0o440}},
    ]


def test_without_a_client_certificate_only_the_authority_is_given() -> None:
    spec = accounting_spec(load(minimal(accounting={"database": DATABASE | {"tls": {"caSecret": "db-ca"}}})))
    assert spec["extraConf"] == "StorageParameters=SSL_CA=/etc/slinky-database-tls/ca/ca.crt"
    assert [volume["name"] for volume in spec["template"]["spec"]["volumes"]] == ["slinky-database-ca"]
