"""What else Slurm's daemons say."""

from __future__ import annotations

from typing import Any

from slinky_iac.slurmrest.controller import Diag, Pings, Reservation
from slinky_iac.slurmrest.daemons import Cluster
from tests.made.rows import META, number
from tests.made.wire import read


def reservation(name: str, node_list: str, start_time: int | None, end_time: int | None) -> Reservation:
    """A reservation; None is a moment that isn't set."""
    times = {"start_time": number(start_time), "end_time": number(end_time)}
    return read(Reservation, {"name": name, "node_list": node_list, **times})


def pings(*controllers: dict[str, Any], release: str = "26.05.5", cluster: str = "lab") -> Pings:
    """slurmrestd's word about each slurmctld; one that answers unless said."""
    up = {"hostname": "ctl", "responding": True, "primary": True, "mode": "primary"}
    rows = [up | each for each in controllers or ({},)]
    return read(Pings, {"pings": rows, "errors": [], "meta": {"slurm": {"release": release, "cluster": cluster}}})


def diag(jobs_running: int = 0) -> Diag:
    """slurmctld's numbers."""
    return read(Diag, {"statistics": {"jobs_running": jobs_running}, "errors": [], "meta": META})


def cluster(name: str, host: str = "", port: int = 0, rpc_version: int = 0) -> Cluster:
    """A cluster of slurmdbd's."""
    return read(Cluster, {"name": name, "controller": {"host": host, "port": port}, "nodes": "", "rpc_version": rpc_version})
