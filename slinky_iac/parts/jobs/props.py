"""What a job's props say, as one frozen value. The props are in users' state files: a wire format with a number."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac import names
from slinky_iac.cluster.reach import Reach
from slinky_iac.drain.settings import known_schema, reach_from

INPUTS: Final = (
    "user", "script", "partition", "account", "qos", "nodes", "timeLimitS", "environment", "workingDirectory", "output"
)  # fmt: skip
"""Props that make a job what it is: another value of one is another run."""
PATH: Final = "PATH=/usr/local/bin:/usr/bin:/bin"
"""A job needs one variable at least (error 2127), and a script needs this one."""


@dataclass(frozen=True)
class JobSettings:
    """One job of a stack."""

    stack: str
    job: str
    nonce: str
    """Made once for each life of the resource, before its first run, and kept in the state: a stack that is made again
    under its old name doesn't take the jobs of its first life for its own."""
    user: str
    script: str
    body: Mapping[str, Any]
    """What slurmrestd is sent of the job, but for its tag."""
    partition: str
    own_partition: bool
    """The stack itself gives slurmctld the partition."""
    time_limit_s: int | None
    await_end: bool
    every_update: bool
    wait_on_destroy: bool
    timeout_s: int
    await_row: bool
    """The run is at its end only when slurmdbd has its row."""
    accounting: bool
    """slurmdbd remembers jobs that slurmctld has forgotten, and must be asked."""
    reach: Reach
    urn: str
    digest: str
    run: int = 0
    """Number of the last run whose end, or whose begin where that is all that is waited for, is in the state."""
    last_digest: str = ""
    """Digest of that run's inputs."""
    last_state: str = ""
    """``over``, ``failed`` or ``open``: what the state says of that run."""

    @property
    def prefix(self) -> str:
        """How the tags of all runs in this life of the resource begin."""
        return names.job_tags(self.stack, self.job, self.nonce)

    def tag(self, run: int) -> str:
        """The tag of one run."""
        return f"{self.prefix}{run}.{self.digest}"

    @property
    def next_run(self) -> int:
        """The run that an update is to bring to its end: the one that is open, where it is of the same inputs."""
        goes_on = self.last_state == "open" and self.last_digest == self.digest
        return self.run if goes_on else self.run + 1

    @property
    def due(self) -> bool:
        """Whether an update has a run to bring about, or to continue with."""
        if self.every_update or self.last_digest != self.digest:
            return True
        return self.await_end and self.last_state != "over"

    @classmethod
    def from_props(cls, props: Mapping[str, Any], olds: Mapping[str, Any] | None = None) -> JobSettings:
        """Read props, from a program or from a state file. ``olds``, the state's, tell which run was the last.

        :raises ValueError: the shape is of another program's making.
        """
        known_schema(props)
        state = props if olds is None else olds
        limit = int(props.get("timeLimitS") or 0)
        return cls(
            stack=str(props["stack"]),
            job=str(props["job"]),
            nonce=str(props["nonce"]),
            user=str(props["user"]),
            script=str(props["script"]),
            body=_body(props),
            partition=str(props["partition"] or ""),
            own_partition=props.get("ownPartition") is True,
            time_limit_s=limit or None,
            await_end=props["waitFor"] != "submitted",
            every_update=props["runs"] == "on-every-update",
            wait_on_destroy=props["onDestroy"] == "wait",
            timeout_s=int(props["timeoutS"]),
            await_row=props.get("awaitRow") is True,
            accounting=props.get("accounting") is True,
            reach=reach_from(props),
            urn=str(props.get("urn", "")),
            digest=digest(props),
            run=int(state.get("run") or 0),
            last_digest=str(state.get("digest") or ""),
            last_state=str(state.get("last") or ""),
        )


def digest(props: Mapping[str, Any]) -> str:
    """Twelve letters that change with what the job is. Numbers may have come as floats."""
    inputs = {name: _whole(props.get(name)) for name in INPUTS}
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:12]


def _body(props: Mapping[str, Any]) -> dict[str, Any]:
    environment = [f"{name}={value}" for name, value in sorted(dict(props["environment"]).items())]
    if not any(variable.startswith("PATH=") for variable in environment):
        environment.append(PATH)
    limit = int(props.get("timeLimitS") or 0)
    body: dict[str, Any] = {
        "name": str(props["job"]),
        "current_working_directory": str(props["workingDirectory"]),
        "environment": environment,
        "minimum_nodes": int(props["nodes"]),
        "maximum_nodes": int(props["nodes"]),
    }
    if limit:
        body["time_limit"] = {"set": True, "number": -(-limit // 60)}
    texts = {"partition": "partition", "account": "account", "qos": "qos", "output": "standard_output"}
    return body | {field: str(props[name]) for name, field in texts.items() if props.get(name)}


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value
