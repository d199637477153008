"""What happened to one worker in a scale-in and when, from what Kubernetes and slurmctld themselves said.

The API server's watches are read line by line and stamped on arrival; slurmctld's log has stamps of its own. On the lab
they share one clock. All times are seconds since the epoch.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

STATE = "SlurmNodeState"
"""Pod conditions of the operator's begin so: its own, cached view of Slurm."""
BUSY = {"Allocated", "Mixed", "Completing"}
_LINE = re.compile(r"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+)\] (.*)")


@dataclass(frozen=True)
class Event:
    """One event of a watch."""

    at: float
    kind: str
    """ADDED, MODIFIED or DELETED."""
    what: Mapping[str, Any]


class Watched:
    """A watch, and its events so far; a thread adds to them."""

    def __init__(self, path: str, env: Mapping[str, str]) -> None:
        self.events: list[Event] = []
        self._command = ["kubectl", "get", "--raw", f"{path}?watch=1&resourceVersion=0"]
        self._env = dict(env)
        self._process: subprocess.Popen[str] | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()
        while self._thread.is_alive():
            if self._process is not None:
                self._process.terminate()
            self._thread.join(0.2)

    def _follow(self) -> None:
        """Read to the end, and again: the API server ends a watch when it likes, and a new one begins with what is so.

        Resource version 0 is what the server holds in memory; without it, it waits for etcd's word and may give up.
        """
        while not self._ended.is_set():
            with subprocess.Popen(self._command, env=self._env, stdout=subprocess.PIPE, text=True) as self._process:
                for line in self._process.stdout or ():
                    at = time.time()
                    event = json.loads(line)
                    if event["type"] != "ERROR":
                        self.events.append(Event(at, event["type"], event["object"]))
            self._ended.wait(0.5)


@dataclass(frozen=True)
class Times:
    """Moments of one scale-in; None where it didn't come to pass, or wasn't seen."""

    asked: float
    """Before the command that asks for it."""
    drained: float | None
    """slurmctld set DRAIN."""
    seen: float | None
    """The operator's view shows that drain."""
    job_end: float | None
    """slurmctld ended the job on the node; None with an idle one."""
    patched: float | None
    """The NodeSet's replicas are lower."""
    seen_idle: float | None
    """The operator's view shows no work on the node, after the job's end; at the latest its own deletion."""
    deleted: float | None
    """The operator deleted the pod."""
    gone: float | None
    """The pod is gone."""


@contextmanager
def watch(path: str, env: Mapping[str, str]) -> Iterator[Watched]:
    """Watch an API path of a list with kubectl while the block runs."""
    watched = Watched(path, env)
    try:
        yield watched
    finally:
        watched.end()


def pods_of(events: Iterable[Event], node: str, after: float) -> list[Event]:
    """Events about the pod of one Slurm node since ``after``."""
    return [event for event in events if event.at >= after and event.what.get("spec", {}).get("hostname") == node]


def conditions(pod: Mapping[str, Any]) -> dict[str, str]:
    """The operator's view of the pod's Slurm node: states, each with its message."""
    listed = pod.get("status", {}).get("conditions", [])
    return {
        each["type"].removeprefix(STATE): each.get("message", "")
        for each in listed
        if each["type"].startswith(STATE) and each["status"] == "True"
    }


def moment(events: Iterable[Event]) -> float | None:
    """When the first of ``events`` came."""
    return next((event.at for event in events), None)


def logged(log: str, pattern: str, after: float) -> float | None:
    """When slurmctld first logged a line with ``pattern`` since ``after``. Its clock is UTC on the lab's hosts."""
    for line in log.splitlines():
        found = _LINE.match(line)
        if found is None or re.search(pattern, found[2]) is None:
            continue
        at = datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp()
        if at >= after - 0.001:
            return at
    return None


def times(
    *, asked: float, node: str, replicas: int, job: int | None, pods: Sequence[Event], nodesets: Sequence[Event], log: str
) -> Times:
    """The moments of a scale-in to ``replicas`` that gave up ``node``, on which ``job`` ran."""
    mine = pods_of(pods, node, asked)
    deleted = moment(e for e in mine if "deletionTimestamp" in e.what["metadata"] or e.kind == "DELETED")
    end = logged(log, rf"_job_complete: JobId={job} done", 0.0) if job is not None else None
    idle = moment(e for e in mine if end is not None and e.at >= end and not BUSY & set(conditions(e.what)))
    return Times(
        asked=asked,
        drained=logged(log, rf"update_node: node {re.escape(node)} state set to DRAIN", asked),
        seen=moment(e for e in mine if "Drain" in conditions(e.what)),
        job_end=end,
        patched=moment(e for e in nodesets if e.at >= asked and e.what["spec"].get("replicas") == replicas),
        seen_idle=min((at for at in (idle, deleted) if at is not None), default=None),
        deleted=deleted,
        gone=moment(e for e in mine if e.kind == "DELETED"),
    )
