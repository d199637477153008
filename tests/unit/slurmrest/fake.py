"""A slurmrestd in memory that has the habits of the real one (facts/slurmrestd.md#ten-traps), behind httpx.MockTransport.

It isn't a model of Slurm: tests set its nodes, jobs and faults; it answers, and keeps what it was asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import httpx
import jwt

from slinky_iac.kube.wire import Clock, Retry
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Direct
from tests.made.rows import META, NOW, Json, number

KEY = b"\x00\xff the key of this cluster \x80 32 or more bytes \n"
OTHER_KEY = b"a key that slurmctld does not hold any more, or not yet"

Fault = Callable[[httpx.Request], httpx.Response]


@dataclass
class Ticks:
    """A clock that moves when it is slept on, or by hand."""

    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> Clock:
        return Clock(wall=lambda: NOW - 1000 + self.now, monotonic=self.read, sleep=self.sleep, random=lambda: 0.5)

    def read(self) -> float:
        self.now += 0.001
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def error(error_number: int, text: str = "no", description: str = "") -> Json:
    return {"error_number": error_number, "error": text, "description": description, "source": "test"}


def answer(code: int = 200, errors: list[Json] | None = None, **data: Any) -> httpx.Response:
    return httpx.Response(code, json={**data, "errors": errors or [], "warnings": [], "meta": META})


@dataclass
class FakeSlurm:
    """What the cluster holds; ``faults`` answer first, one request each, and None lets one pass."""

    nodes: dict[str, Json] = field(default_factory=dict)
    jobs: dict[int, Json] = field(default_factory=dict)
    accounts: list[Json] | None = None
    """Runs of jobs as slurmdbd has them; None: no slurmdbd answers."""
    served: tuple[str, ...] = ("v0.0.44", "v0.0.45")
    keys: tuple[bytes, ...] = (KEY,)
    faults: list[Fault | None] = field(default_factory=list)
    asked: list[tuple[str, str, Json | None]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    last_update: int = NOW
    wall: Callable[[], int] = lambda: NOW
    """Its host's clock, from which a hold counts."""
    changed: bool = True
    controller: str | None = "lab"
    """slurmctld's own ClusterName; META has the one of slurmrestd. None: it doesn't serve its slurm.conf."""
    slurm_user: str | None = "slurm"
    """SlurmUser of slurmctld's conf."""
    levels: dict[str, str] | None = field(default_factory=dict)
    """AdminLevel by user in slurmdbd. None: slurmdbd doesn't answer."""
    unshown: set[int] = field(default_factory=set)
    """Jobs of which slurmctld gives the state and not the record."""
    ticks: Ticks = field(default_factory=Ticks)

    def add(self, *rows: Json) -> FakeSlurm:
        for row in rows:
            if "job_id" in row:
                self.jobs[row["job_id"]] = row
            else:
                self.nodes[row["name"]] = row
        return self

    def client(self, *keys: bytes, **more: Any) -> SlurmrestClient:
        return SlurmrestClient(
            Direct("http://rest:6820"),
            keys or (KEY,),
            clock=self.ticks.clock(),
            **{"retry": Retry(tries=3), "transport": httpx.MockTransport(self.handle), **more},
        )

    def asked_for(self, method: str, ending: str) -> list[Json | None]:
        return [body for m, path, body in self.asked if m == method and path.endswith(ending)]

    def handle(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else None
        self.asked.append((request.method, request.url.path, body))
        if self.faults and not request.url.path.endswith("ping/"):
            fault = self.faults.pop(0)
            if fault is not None:
                return fault(request)
        token = request.headers.get("X-SLURM-USER-TOKEN")
        if token is None:
            return httpx.Response(401, text="Authentication failure")
        self.tokens.append(token)
        _, api, version, rest = request.url.path.split("/", 3)
        if version not in self.served:
            return httpx.Response(404, text="Unable find requested URL")
        good = self.takes(token)
        if rest == "ping/":
            up = {"hostname": "ctl", "pinged": "UP", "responding": good, "primary": True, "mode": "primary"}
            return answer(pings=[up])
        if not good:
            return answer(511, [error(1007, "Protocol authentication error")])
        in_accounts = (api, rest) == ("slurmdb", "jobs/")
        return self.accounted(request.url.params) if in_accounts else self.serve(request, rest, body or {})

    def accounted(self, asked: httpx.QueryParams) -> httpx.Response:
        if self.accounts is None:
            return answer(502, [error(7000, "Unable to connect to database")])
        if any("," in each for each in asked.get_list("step")):
            return answer(422, [error(9000, "Query empty or not RFC7320 compliant")])
        if "state" in asked and "end_time" not in asked:
            return answer(jobs=[])
        steps = {int(each) for each in asked.get_list("step")}
        wanted = [row for row in self.accounts if not steps or row["job_id"] in steps]
        if "cluster" in asked:  # without it slurmdbd names the runs of all its clusters
            wanted = [row for row in wanted if row.get("cluster", asked["cluster"]) == asked["cluster"]]
        return answer(jobs=[row for row in wanted if asked.get("state", "") in ("", *row["state"]["current"])])

    def takes(self, token: str) -> bool:
        now = self.ticks.clock().wall()
        options = {"verify_exp": False, "verify_iat": False}
        for key in self.keys:
            try:
                claims = jwt.decode(token, key, algorithms=["HS256"], options=options)  # type: ignore[arg-type]
            except jwt.InvalidTokenError:
                continue
            whole = all(isinstance(claims[name], int) for name in ("iat", "exp"))
            return whole and claims["exp"] > now and isinstance(claims["sun"], str)
        return False

    def serve(self, request: httpx.Request, rest: str, body: Json) -> httpx.Response:
        kind, _, name = rest.partition("/")
        calls: dict[tuple[str, str], Callable[[], httpx.Response]] = {
            ("GET", "nodes"): lambda: self.listed("update_time" in request.url.params),
            ("GET", "jobs"): lambda: self.states(request.url.params) if name else self.records(self.jobs.values()),
            ("GET", "job"): lambda: self.record(int(name)),
            # The single GET is stale about what runs.
            ("GET", "node"): lambda: answer(nodes=[{**self.nodes[name], "alloc_cpus": 0}], last_update=number(1)),
            ("GET", "reservations"): lambda: answer(reservations=[], last_update=number(self.last_update)),
            ("GET", "diag"): lambda: answer(statistics={"jobs_running": len(self.jobs), "jobs_pending": 0}),
            ("GET", "user"): lambda: self.user(name),
            ("POST", "nodes"): lambda: self.update(body),
            ("DELETE", "node"): lambda: answer() if self.nodes.pop(name, None) else answer(422, [error(2018)]),
            ("DELETE", "jobs"): lambda: self.cancel(body),
            ("POST", "jobs"): lambda: self.requeue(body),
        }
        if self.controller is not None:
            names = {"ClusterName": self.controller, "SlurmUser": self.slurm_user}
            calls["GET", "conf"] = lambda: answer(slurm_conf=names)
        call = calls.get((request.method, kind))
        return call() if call is not None else httpx.Response(404, text="Unable find requested URL")

    def records(self, rows: Iterable[Json]) -> httpx.Response:
        return answer(jobs=list(rows), last_update=number(self.last_update))

    def record(self, job_id: int) -> httpx.Response:
        """One job; with an array's own id, all its tasks; with a het job's, all its parts."""
        rows = [
            row
            for row in self.jobs.values()
            if job_id in (row["job_id"], row["array_job_id"]["number"], row["het_job_id"]["number"])
        ]
        known = job_id in self.jobs and job_id not in self.unshown
        return self.records(rows) if known else answer(404, [error(2017, "Invalid job id specified")], jobs=[])

    def states(self, asked: httpx.QueryParams) -> httpx.Response:
        """Ids as slurmrestd 26.05 writes them: the record's own, then its task or its offset."""
        if any("," in each for each in asked.get_list("job_id")):
            return httpx.Response(500, text="Unspecified error")
        ids = {int(each) for each in asked.get_list("job_id")}
        rows = []
        for job_id, row in self.jobs.items():
            if ids and not ids & {job_id, row["array_job_id"]["number"], row["het_job_id"]["number"]}:
                continue
            tasks = row.get("waiting_tasks") or [row["array_task_id"]["number"]] if row["array_job_id"]["set"] else []
            parts = [f"{job_id}+{row['het_job_offset']['number']}"] if row["het_job_id"]["set"] else [str(job_id)]
            names = [f"{job_id}_{task}" for task in tasks] or parts
            rows += [{"job_id": name, "state": row["job_state"]} for name in names]
        return answer(jobs=rows)

    def user(self, name: str) -> httpx.Response:
        if self.levels is None:
            return answer(502, [error(7000, "Unable to connect to database")])
        known = self.levels.get(name)
        return answer(users=[] if known is None else [{"name": name, "administrator_level": [known]}])

    def listed(self, only_changes: bool) -> httpx.Response:
        if only_changes and not self.changed:
            return httpx.Response(304)
        return answer(nodes=list(self.nodes.values()), last_update=number(self.last_update))

    def requeue(self, body: Json) -> httpx.Response:
        missing = any(int(i) not in self.jobs for i in body["jobs"])
        return answer(404, [error(2017)], status=[]) if missing else answer(status=[])

    def update(self, body: Json) -> httpx.Response:
        """Not atomic: unknown names fail the call, and the known ones are done all the same."""
        for name in body["name"]:
            if name in self.nodes:
                self.change(self.nodes[name], body)
        if any(name not in self.nodes for name in body["name"]):
            return answer(422, [error(2018, "Invalid node name specified")])
        return answer()

    def change(self, row: Json, body: Json) -> None:
        state = set(row["state"])
        if body.get("state") == ["DRAIN"]:
            state |= {"DRAIN"}
        elif body.get("state") == ["UNDRAIN"]:
            state -= {"DRAIN"}
            row["reason"] = row["reason"] if "DOWN" in state else ""
            row["resume_after"] = number(None)
        elif body.get("state") == ["RESUME"]:
            state -= {"DRAIN", "DOWN"}
            row["reason"], row["resume_after"] = "", number(None)
        elif body.get("state") == ["DOWN"]:
            state = (state - {"IDLE", "MIXED", "ALLOCATED"}) | {"DOWN"}
        row["state"] = sorted(state)
        if body.get("reason"):
            row["reason"], row["reason_set_by_user"] = body["reason"], "slurm"
            row["reason_changed_at"] = number(self.wall())
        if "resume_after" in body:
            after = body["resume_after"]
            row["resume_after"] = number(None if after["infinite"] else self.wall() + after["number"])

    def cancel(self, body: Json) -> httpx.Response:
        said = []
        for name in body["jobs"]:
            known = self.jobs.get(int(name))
            code = 2017 if known is None else 2021 if known["job_state"] == ["COMPLETED"] else 0
            code = 2002 if known is not None and known["user_name"] == "protected" else code
            if known is not None and code == 0:
                known["job_state"] = ["CANCELLED"]
            said.append(
                {
                    "job_id": number(int(name) if known is not None else None),
                    "step_id": name,
                    "error": {"code": code, "string": "No error" if code == 0 else "refused", "message": ""},
                }
            )
        return answer(status=said if "VERBOSE" in body.get("flags", []) else [])
