"""What slurmdbd is asked, through slurmrestd: the users, clusters and jobs that it remembers.

A refused token looks like a slurmdbd that is down here (error 7000).
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from slinky_iac.slurmrest import models, raw
from slinky_iac.slurmrest.answers import read
from slinky_iac.slurmrest.raw_accounted import AccountedBody
from slinky_iac.slurmrest.session import LONG, Session

NAMED = 200
"""Jobs that slurmdbd is asked for at once: they stand in the URL, each as a parameter. A list of two by comma, in either
spelling, is an error of slurmrestd 26.05.5 (run)."""
FAR = 30 * 24 * 3600
"""Seconds after the begin of a drain, in which it has ended."""


class AccountsSession(Session):
    """The calls on slurmdbd; :class:`slinky_iac.slurmrest.client.SlurmrestClient` has all."""

    def admin_level(self, user: str, *, budget_s: float | None = None) -> str:
        """AdminLevel of a user in slurmdbd, as slurmrestd writes it; ``""`` where there is no such user."""
        return self._get(f"user/{quote(user, safe='')}", raw.UsersBody, budget_s, api="slurmdb").level(user)

    def clusters(self, *, budget_s: float | None = None) -> tuple[models.Cluster, ...]:
        """The clusters that slurmdbd knows. A refused token looks like a slurmdbd that is down here (7000)."""
        return self._get("clusters/", raw.ClustersBody, budget_s, api="slurmdb", most=LONG).values()

    def accounted(
        self, ids: Iterable[int], *, cluster: str = "", budget_s: float | None = None
    ) -> tuple[models.Accounted, ...]:
        """All runs of these jobs that slurmdbd remembers. By number, for slurmdbd finds nodes by their place in its list of
        all, which dynamic nodes keep moving (as_mysql_jobacct_process.c, good_nodes_from_inx)."""
        jobs = [str(each) for each in sorted(set(ids))]
        parts = (jobs[at : at + NAMED] for at in range(0, len(jobs), NAMED))
        return self._accounted([{"step": part} for part in parts], cluster, budget_s)

    def failed_since(self, moment: int, *, cluster: str = "", budget_s: float | None = None) -> tuple[models.Accounted, ...]:
        """Runs since ``moment`` that ended with a node of theirs, as slurmdbd has them."""
        # Without an end of the time slurmdbd finds no job by its state (run).
        window = {"start_time": str(moment), "end_time": str(moment + FAR)}
        return self._accounted([{"state": "NODE_FAIL", **window}], cluster, budget_s)

    def _accounted(
        self, questions: Iterable[dict[str, str | list[str]]], cluster: str, budget_s: float | None
    ) -> tuple[models.Accounted, ...]:
        left = self._left(budget_s)
        every = {"skip_steps": "true", "show_duplicates": "true", **({"cluster": cluster} if cluster else {})}
        found: list[models.Accounted] = []
        for question in questions:
            path = self._path("jobs/", left(), "slurmdb")
            answer = self._send("GET", path, "jobs of slurmdbd", left(), params={**every, **question}, most=LONG)
            found += read(answer, AccountedBody, "jobs of slurmdbd").values()
        return tuple(found)
