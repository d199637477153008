"""Slurm's objects as the tests want them, built through the wire format: what can't come from slurmrestd can't be built."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from slinky_iac.slurmrest.accounts import Accounted, Cluster
from slinky_iac.slurmrest.controller import Diag, Pings, Reservation
from slinky_iac.slurmrest.objects import Job, Node
from tests.unit.slurmrest import fake
from tests.unit.slurmrest.fake import META, number

Read = TypeVar("Read")


def read(kind: type[Read], body: object) -> Read:
    """``body`` as it comes back from JSON."""
    return msgspec.json.decode(msgspec.json.encode(body), type=kind)


def numbers(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    """``fields``, those of ``names`` as slurmrestd writes numbers; None is one that isn't set."""
    return {name: number(value) if name in names else value for name, value in fields.items()}


def node(name: str, state: str = "IDLE", **fields: Any) -> Node:
    """``state`` as sinfo has it, with ``+``."""
    return read(Node, fake.node(name, *state.split("+"), **numbers(fields, "reason_changed_at", "resume_after")))


def job(job_id: int, nodes: str = "", state: str = "RUNNING", **fields: Any) -> Job:
    """``nodes`` as a hostlist; an ``end_time`` alone comes with a time limit."""
    given = numbers(
        fields, "start_time", "end_time", "array_job_id", "array_task_id", "het_job_id", "het_job_offset", "node_count"
    )
    return read(Job, fake.job(job_id, *state.split("+"), nodes=nodes, **given))


def reservation(name: str, node_list: str, start_time: int | None, end_time: int | None) -> Reservation:
    """A reservation; None is a moment that isn't set."""
    times = {"start_time": number(start_time), "end_time": number(end_time)}
    return read(Reservation, {"name": name, "node_list": node_list, **times})


def run(job_id: int, *states: str, **fields: Any) -> Accounted:
    """A run of a job as slurmdbd has it."""
    return read(Accounted, fake.run(job_id, *states, **fields))


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
