"""TLS from slurmdbd in Kubernetes to its database: StorageParameters, and the files that it names.

Source: slurmdbd.conf(5), StorageParameters; mysql_common.c hands them to the client library at each connection, so files
that change are used from the next one on.
"""

from __future__ import annotations

from slinky_iac.config.sections import DatabaseTls
from slinky_iac.specs.shared import Spec

CA, CLIENT = "/etc/slinky-database-tls/ca", "/etc/slinky-database-tls/client"


def database_tls_parameters(tls: DatabaseTls) -> str:
    """Value of ``StorageParameters``."""
    parameters = [f"SSL_CA={CA}/ca.crt"]
    if tls.client_secret:
        parameters += [f"SSL_CERT={CLIENT}/tls.crt", f"SSL_KEY={CLIENT}/tls.key"]
    return ",".join(parameters)


def database_tls_volumes(tls: DatabaseTls) -> tuple[Spec, list[Spec]]:
    """Volumes of slurmdbd's pod, and mounts of its container. Without the Secrets the pod waits: no plain text instead."""
    volumes = [_volume("slinky-database-ca", tls.ca_secret, "ca.crt")]
    mounts: list[Spec] = [{"name": "slinky-database-ca", "mountPath": CA, "readOnly": True}]
    if tls.client_secret:
        volumes.append(_volume("slinky-database-client", tls.client_secret, "tls.crt", "tls.key"))
        mounts.append({"name": "slinky-database-client", "mountPath": CLIENT, "readOnly": True})
    return {"volumes": volumes}, mounts


def _volume(name: str, secret: str, *entries: str) -> Spec:
    items = [{"key": entry, "path": entry} for entry in entries]
    return {"name": name, "secret": {"secretName": secret, "items": items, "defaultMode": 0o440}}
