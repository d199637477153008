"""Slurm's nodes without slurmd (``State=EXTERNAL``) and jobs that take a node and run nothing on it.

slurmctld schedules, drains and deletes such nodes as any other and never pings them; it takes jobs there that have the flag
EXTERNAL_JOB alone, and refuses others with "Requested node configuration is not available" (26.05.5, run). A name without an
address costs it a look-up of the name under its locks, seconds for each where no name server answers (run): nodes get the
addresses of their pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final

from slinky_iac.slurmrest import controller, drains
from slinky_iac.slurmrest.answers import Envelope
from slinky_iac.slurmrest.submitted import SubmittingSession

CHUNK: Final = 200
"""Nodes in one request."""
MEMORY_MIB: Final = 1000


class ExternalSession(SubmittingSession):
    """The calls that a measurement needs; :class:`slinky_iac.slurmrest.client.SlurmrestClient` has all."""

    def create_external(self, addresses: Mapping[str, str], feature: str) -> None:
        """Make nodes of one CPU, by name and address. :raises SlurmrestRefused: one is there, or Slurm has no such state."""
        names = drains.checked_names(addresses)
        (label,) = drains.checked_names([feature])
        for at in range(0, len(names), CHUNK):
            part = names[at : at + CHUNK]
            hosts = ",".join(str(ip_address(addresses[name])) for name in part)
            text = (
                f"NodeName={','.join(part)} NodeAddr={hosts} State=EXTERNAL CPUs=1 RealMemory={MEMORY_MIB} Features={label}"
            )
            self._write("POST", "new/node/", Envelope, f"create {len(part)} nodes", {"node_conf": text})

    def rpc_load(self) -> controller.RpcDiag:
        """What slurmctld has answered so far, and how long it took (``sdiag``)."""
        return self._get("diag/", controller.RpcDiag)

    def submit_external(self, name: str, partition: str, minutes: int) -> int:
        """Submit a job of one node that runs nothing; its id."""
        job = {
            "name": name,
            "flags": ["EXTERNAL_JOB"],
            "partition": partition,
            "tasks": 1,
            "time_limit": {"set": True, "number": minutes},
            "current_working_directory": "/tmp",
            "environment": ["PATH=/bin"],
        }
        return self.submit("submit an external job", {"job": job})
