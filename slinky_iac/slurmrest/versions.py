"""Which REST version to speak: the newest of ours that slurmrestd serves.

slurm-operator 1.x itself speaks v0.0.44 alone, so a cluster that can't be served here couldn't run it either.
"""

from __future__ import annotations

from collections.abc import Callable

import httpx

from slinky_iac.errors import SlurmrestVersionError
from slinky_iac.slurmrest.answers import read, refusal
from slinky_iac.slurmrest.controller import Pings

SPOKEN = ("v0.0.45", "v0.0.44")
"""Newest first: Slurm 26.05 and 25.11."""
OLDER = {"v0.0.43": "25.05", "v0.0.42": "24.11", "v0.0.41": "24.05", "v0.0.40": "23.11"}
"""Versions that only name the release in the refusal."""
REQUEUE_SINCE = "v0.0.45"
PARTITIONS_SINCE = "v0.0.45"
"""First version with ``POST partitions/`` (Slurm 26.05)."""
CONF_SINCE = "v0.0.45"
"""First version with ``GET conf`` (Slurm 26.05)."""


def negotiate(ask: Callable[[str], httpx.Response], where: str) -> str:
    """The version to speak. ``ask`` gives the answer to GET of a path; ping is cheap and needs no good token.

    :raises SlurmrestVersionError: slurmrestd serves only others, or isn't slurmrestd.
    """
    for version in SPOKEN:
        if _served(ask, version):
            return version
    for version, release in OLDER.items():
        if _served(ask, version):
            raise SlurmrestVersionError(
                f"slurmrestd at {where} serves {version} (Slurm {release}) at most, and we speak {' and '.join(SPOKEN)}. "
                "Slurm 25.11 or newer is needed, for slurmctld and slurmdbd too: slurmrestd may not be newer than they"
            )
    raise SlurmrestVersionError(
        f"{where} serves none of the REST versions {', '.join((*SPOKEN, *OLDER))}: is it slurmrestd, with the plugin "
        "openapi/slurmctld? Slurm 25.11 or newer is needed"
    )


def served(ask: Callable[[str], httpx.Response]) -> tuple[str, ...]:
    """All REST versions that slurmrestd serves, newest first, those that we don't speak too."""
    return tuple(version for version in (*SPOKEN, *OLDER) if _served(ask, version))


def _served(ask: Callable[[str], httpx.Response], version: str) -> bool:
    response = ask(f"/slurm/{version}/ping/")
    what = f"ping {version}"
    if response.status_code == 404 and "json" not in response.headers.get("content-type", ""):
        return False  # slurmrestd's own "no such path" is plain text
    if response.status_code != 200:
        raise refusal(response, what)
    if version in SPOKEN:
        read(response, Pings, what)  # older ones say it otherwise: v0.0.41 has no ``responding`` (24.11.5)
    return True
