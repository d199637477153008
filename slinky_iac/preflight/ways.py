"""The slurmrestds that a configuration knows of, as ways to ask Slurm."""

from __future__ import annotations

from slinky_iac.cluster.connection import endpoint
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.ask_slurm import Way
from slinky_iac.reach import reach
from slinky_iac.slurmrest.endpoints import direct


def way_of_drains(config: StackConfig) -> Way:
    """The one that drains go through: at its URL, or in Kubernetes behind the API server."""
    way = reach(config)
    return Way(endpoint(way), inside=way.url is None, user=way.user)


def way_of_users(config: StackConfig) -> Way | None:
    """The one for users, outside Kubernetes; None where the stack has none."""
    outside = config.external.slurmrestd
    if outside is None:
        return None
    place = direct(outside.url, outside.ca_file, outside.client_cert_file, outside.client_key_file)
    return Way(place, inside=False, needed=False, user=config.slurmrest.user)
