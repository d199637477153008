"""Rows as slurmrestd sends them."""

from __future__ import annotations

from typing import Any

NOW = 1_795_235_000
META = {"slurm": {"release": "26.05.5", "cluster": "lab", "version": {"major": "26"}}, "plugin": {"type": "x"}}

Json = dict[str, Any]


def number(value: int | None) -> Json:
    return {"set": value is not None, "infinite": False, "number": value or 0}


def numbers(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    """``fields``, those of ``names`` as slurmrestd writes numbers; None is one that isn't set."""
    return {name: number(value) if name in names else value for name, value in fields.items()}


def node(name: str, *state: str, reason: str = "", user: str = "", **more: Any) -> Json:
    base: Json = {
        "name": name,
        "hostname": name,
        "state": list(state or ("IDLE",)),
        "alloc_cpus": 0,
        "reason": reason,
        "reason_set_by_user": user,
        "reason_changed_at": number(NOW if reason else None),
        "resume_after": number(None),
        "partitions": ["gpu"],
        "features": ["gpu"],
        "active_features": ["gpu"],
        "comment": "",
        "extra": "",
        "reservation": "",
        "version": "26.05.5",
        "a field of the future": {"deep": [1]},
    }
    return base | more


def job(job_id: int, *states: str, nodes: str = "", limit: int | None = 10, **more: Any) -> Json:
    base: Json = {
        "job_id": job_id,
        "job_state": list(states or ("RUNNING",)),
        "nodes": nodes,
        "user_name": "alice",
        "account": "research",
        "partition": "gpu",
        "name": "train",
        "time_limit": {"set": True, "infinite": limit is None, "number": limit or 0},
        "start_time": number(NOW - 60),
        "end_time": number(NOW + 540),
        "submit_time": number(NOW - 90),
        "array_job_id": number(0),
        "array_task_id": number(None),
        "het_job_id": number(0),
        "het_job_offset": number(0),
        "shared": [],
        "requeue": True,
        "restart_cnt": 0,
        "resv_name": "",
        "state_reason": "None",
    }
    return base | more


def run(job_id: int, *states: str, nodes: str = "g-0", end: int | None = NOW, **more: Any) -> Json:
    """A run of a job as slurmdbd has it; ``cluster=``: of another cluster than the one that is asked about."""
    times = {"start": NOW - 600, "end": end or 0, "elapsed": 1, "limit": number(None)}
    base: Json = {"job_id": job_id, "state": {"current": list(states), "reason": "None"}, "nodes": nodes, "time": times}
    return base | more
