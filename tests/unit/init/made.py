"""Answers of slurmctld's host, made up: what `scontrol show config` prints, and the rest of the script's answer."""

from __future__ import annotations

import base64
from typing import Any

from slinky_iac.commands.init.stack import Wanted, hints, read, sections, warnings
from tests.raw_keys import raw_key

SLURM, JWT = raw_key("slurm", 1024), raw_key("jwt", 32)
CONFIG = """\
Configuration data as of 2026-11-22T10:00:00
AccountingStorageHost   = dbd
AccountingStorageParameters = (null)
AccountingStoragePort   = 6819
AccountingStorageType   = accounting_storage/slurmdbd
AuthAltTypes            = auth/jwt
AuthAltParameters       = jwt_key=/etc/slurm/jwt_hs256.key
AuthInfo                = use_client_ids
AuthType                = auth/slurm
ClusterName             = atlas
MaxNodeCount            = 512
SlurmUser               = slurm(401)
SlurmctldHost[0]        = ctl(10.99.0.11)
SlurmctldParameters     = enable_configless
SlurmctldPort           = 6817
SLURM_CONF              = /etc/slurm/slurm.conf
SLURM_VERSION           = 26.05.2

Slurmctld(primary) at ctl is UP
"""


def answer(config: str = CONFIG, *, slurm: bytes | None = SLURM, jwt: bytes | None = JWT, nodes: str = "metal-1") -> str:
    """What the script prints on slurmctld's host."""
    keys = {"slurm.key": slurm, "jwt.key": jwt}
    listed = "".join(f"NodeName={each} State=IDLE \n" for each in nodes.split()) if nodes != "-" else "-\n"
    parts = {"config": config, "partitions": "all\n", "nodes": listed, "database": "10.99.0.12\n"}
    parts |= {name: "" if raw is None else base64.b64encode(raw).decode() + "\n" for name, raw in keys.items()}
    return "".join(f"== {name}\n{text}" for name, text in parts.items()) + "== end\n"


def wanted(**more: Any) -> Wanted:
    """What a user says: two pods of burst."""
    return Wanted(**{"host": "ctl.example.org", "nodesets": {"burst": 2}, "base": {}, **more})


def noted(told: str) -> list[str]:
    """Warnings and notes about an answer."""
    found = read(told)
    settings = sections(found, wanted())
    return [*warnings(found, settings), *hints(found, settings)]
