"""Jobs and nodes of a cluster in Kubernetes, as its slurmctld tells them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from tests.faults.inside_parts import pairs


class SlurmJobs(ABC):
    """What scontrol shows, for whatever runs commands beside slurmctld."""

    @abstractmethod
    def slurm(self, *argv: str) -> str:
        """What a command beside slurmctld prints."""

    def job(self, number: str) -> dict[str, str]:
        """A job, as slurmctld tells it."""
        return pairs(self.slurm("scontrol", "-o", "show", "job", number))

    def state(self, number: str) -> str:
        """State of a job: RUNNING, PENDING, COMPLETED …"""
        return self.job(number)["JobState"]

    def node(self, name: str) -> dict[str, str]:
        """A node, as slurmctld tells it."""
        return pairs(self.slurm("scontrol", "-o", "show", "node", name))
