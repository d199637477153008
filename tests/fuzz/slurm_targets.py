"""What comes from Slurm, or from users by way of it: answers of slurmrestd, node lists, slurm.conf, reasons of drains."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import httpx

from slinky_iac import hostlist, names
from slinky_iac.cluster.snapshot import ClusterView
from slinky_iac.commands.status import nodes as status_nodes
from slinky_iac.drain.conf_text import otherwise
from slinky_iac.drain.requester import OVERRIDE, actor
from slinky_iac.errors import HostlistError, SlurmrestError
from slinky_iac.kube.wire import Clock, Retry
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Direct
from slinky_iac.slurmrest.objects import UNREADABLE
from slinky_iac.slurmrest.rows import RowSieve
from slinky_iac.slurmrest.shared import SharedJobs
from tests.fuzz.target import SECRET, Target
from tests.made.rows import META, job, node, number, run
from tests.stacks import EXAMPLES, ROOT
from tests.unit.slurmrest.fake import KEY, error

sys.path.insert(0, str(ROOT / "policies"))  # the pack is a program of its own, with a path of its own
from slurm_rules import slurm_conf as policies_conf

STATUS = (200, 200, 200, 200, 200, 200, 304, 401, 404, 422, 500, 502, 504, 511)
"""One of them answers, by the body's length."""
KUBE = {"kind": "Status", "message": "services \x1b[31m not found, Bearer ECHO", "code": 404}


def body(**data: Any) -> bytes:
    return json.dumps({**data, "errors": [], "warnings": [], "meta": META}).encode()


PING = {"hostname": "ctl", "pinged": "UP", "responding": True, "primary": True, "mode": "primary"}
FAILED = json.dumps({"errors": [error(1007, "Protocol authentication error")], "warnings": [], "jobs": []}).encode()
REFUSED = json.dumps({"errors": [error(2018, "Invalid node name", "x\u202e\x1b[2J")], "meta": META}).encode()
OTHERS = (FAILED, REFUSED, json.dumps(KUBE).encode(), b"Authentication failure", b"")
NODES = (
    body(
        nodes=[
            node("gpu-0", "IDLE", "DRAIN", reason="slinky-iac:dev/gpu: scale-in", user="slurm"),
            node("metal-1", "ALLOCATED", alloc_cpus=2),
            node("gpu-1", "DOWN", "NOT_RESPONDING", reason="Stromausfall"),
        ],
        last_update=number(1_795_235_000),
    ),
    *OTHERS,
)
JOBS = (
    body(
        jobs=[
            job(17, nodes="gpu-[0-1]", array_job_id=number(17), array_task_id=number(3)),
            job(18, "PENDING", nodes="", limit=None),
            job(19, "RUNNING", "COMPLETING", nodes="metal-1", het_job_id=number(18), name="\u00e9\u4e2d"),
        ],
        last_update=number(1_795_235_000),
    ),
    *OTHERS,
)
STATES = (
    body(
        jobs=[
            {"job_id": "17_3", "state": ["RUNNING", "COMPLETING"]},
            {"job_id": "18", "state": ["PENDING"]},
            {"job_id": "19+1", "state": ["SUSPENDED"]},
            {"job_id": "20_*", "state": ["COMPLETED"]},
        ]
    ),
    *OTHERS,
)
PARTITIONS = (
    body(
        partitions=[
            {
                "name": "batch",
                "nodes": {"configured": "gpu-[0-3]", "total": 4},
                "node_sets": "gpu",
                "partition": {"state": ["UP"]},
            },
            {"name": "empty", "nodes": {"configured": ""}, "node_sets": "", "partition": {"state": ["DOWN"]}},
        ],
        last_update=number(1),
    ),
    *OTHERS,
)
RESERVATIONS = (
    body(
        reservations=[
            {
                "name": "maint",
                "node_list": "gpu-[0-1]",
                "start_time": number(1_795_235_000),
                "end_time": number(1_795_238_600),
                "flags": ["MAINT"],
                "users": "root",
            }
        ],
        last_update=number(1),
    ),
    *OTHERS,
)
CONF = (
    body(
        slurm_conf={"ClusterName": "lab"},
        slurm_conf_meta={"BOOT_TIME": number(1_795_235_000)},
        statistics={"jobs_running": 3, "jobs_pending": 1},
        clusters=[{"name": "lab", "controller": {"host": "ctl", "port": 6817}, "rpc_version": 44}],
    ),
    *OTHERS,
)
RUNS = (
    body(
        jobs=[
            run(17, "NODE_FAIL", nodes="gpu-[0-1]"),
            run(17, "PENDING", nodes="None assigned", end=None),
            run(18, "COMPLETED"),
        ]
    ),
    *OTHERS,
)
PINGS = (body(pings=[PING, PING | {"mode": "backup1", "responding": False}]), *OTHERS)


def asking_slurm(call: Callable[[SlurmrestClient], object]) -> Callable[[bytes], str | None]:
    """``call`` of a client to which the fuzzed bytes are the answer, whatever it asks; pings are answered well."""
    seconds = count(1000, 0.001)

    def read(data: bytes) -> str | None:
        tokens: set[str] = set()

        def handle(request: httpx.Request) -> httpx.Response:
            if request.url.path.endswith("/ping/") and not data.startswith(PINGS[0][:9]):
                return httpx.Response(200, content=PINGS[0])
            kind = "application/json" if len(data) % 3 else "text/plain"
            # A proxy's debug page echoes requests, the token among it.
            token = request.headers.get("x-slurm-user-token", "")
            tokens.add(token)
            body = data.replace(b"ECHO", token.encode())
            return httpx.Response(STATUS[len(data) % len(STATUS)], content=body, headers={"content-type": kind})

        clock = Clock(wall=lambda: 1_795_235_000.0, monotonic=lambda: next(seconds), sleep=lambda _s: None)
        with SlurmrestClient(
            Direct("http://127.0.0.1:6820"),
            [KEY],
            clock=clock,
            retry=Retry(tries=1),
            transport=httpx.MockTransport(handle),
            shared=SharedJobs(),
        ) as client:
            try:
                said = call(client)
                return said if isinstance(said, str) else None
            except SlurmrestError as error:
                if any(token[at : at + 16] in str(error) for token in tokens for at in range(0, len(token), 16)):
                    raise ValueError("a token is shown") from None
                raise

    return read


def _expanded(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    found = hostlist.expand(text)
    if len(found) <= 2000:
        assert set(hostlist.expand(hostlist.compress(found))) == set(found)


def _sieved(data: bytes) -> None:
    """Rows are cut the same wherever the network cuts the answer."""
    assert _rows(data, 7) == _rows(data, len(data) or 1)


def _rows(data: bytes, size: int) -> tuple[list[bytes], bytes]:
    found: list[bytes] = []

    def take(row: bytes, *, certain: bool) -> bool:
        try:
            json.loads(row)
        except (ValueError, RecursionError):
            if not certain:
                return False
        found.append(row)
        return True

    sieve = RowSieve("jobs", take)
    for at in range(0, len(data), size):
        sieve.feed(data[at : at + size])
    return found, sieve.rest()


def _conf_of_policies(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for line in policies_conf.lines(text):
        assert line.first
        assert policies_conf.seconds(line.value) != -1
    policies_conf.settings(text)
    policies_conf.nodes(text)


def _reason(data: bytes) -> str:
    """A drain's reason that came from anywhere, and one that is made with a name from the environment."""
    text = data.decode("utf-8", "replace")
    names.owns_reason(text, "dev", "gpu")
    whose = status_nodes.whose(text, text[:20], "dev")
    assert isinstance(whose, str)
    made = names.drain_reason(
        "dev", "gpu", f"scale-in by {actor({OVERRIDE: text})}; {actor({'CI': '1', 'GIT_AUTHOR_NAME': text})}"
    )
    assert len(made) <= 255
    assert names.owns_reason(made, "dev", "gpu")
    return made


CONFS: Sequence[bytes] = (
    *(path.read_bytes() for path in EXAMPLES),
    b"ClusterName=lab\nSlurmctldHost=ctl(192.0.2.1)\nNodeName=metal-[001-004,7] CPUs=2 State=UNKNOWN # x\n"
    b'PartitionName=all Nodes=ALL Default=YES MaxTime=1-00:00:00 \\\n  State="UP"\nNodeSet=gpu Feature=gpu\n',
    b"include /etc/slurm/more.conf\nAccountingStoragePass=" + SECRET.encode() + b"\nSlurmdTimeout=5m30s\n",
)
LISTS = (b"gpu-[0-3,07-09],metal-1,r[1-2]n[01-04]", b"g-[1,0]", b"a", b"n[0-9]x[0-9]y[0-9]", b"gpu-0,gpu-1,gpu-10,gpu-2")
REASONS = (
    b"slinky-iac:dev/gpu: scale-in by github alice run 4711",
    b"slurm-operator: Pod lab-worker-gpu-0 is cordoned",
    b"Not responding [slurm@2026-11-21T04:00:00]",
    b"slinky-iac:dev/gpu",
    "Stromausfall Übung".encode("latin-1"),
)


def _nodes(client: SlurmrestClient) -> None:
    answer = client.nodes(allow_none=True)
    for each in () if answer is None else answer.nodes:
        assert not (each.unreadable and (each.drained_or_draining or each.known or each.busy)), "nothing is known of it"
        assert each.trouble.isprintable()


def _jobs(client: SlurmrestClient) -> None:
    jobs = client.jobs().jobs
    ClusterView.of((), jobs)
    for each in jobs:
        assert not (UNREADABLE in each.job_state and each.over), "it may hold its nodes"
        assert (each.label, each.required, each.expected_end, each.partitions, each.least) is not None
        assert each.trouble.isprintable()


def _hosts(client: SlurmrestClient) -> None:
    for each in client.hosts().values():
        otherwise("NodeName=gpu-0 CPUs=4 Gres=gpu:2", each)


TARGETS = (
    Target("hostlist", LISTS, _expanded, (HostlistError,)),
    Target("slurm-conf-policies", tuple(CONFS), _conf_of_policies, ()),
    Target("drain-reason-and-actor", REASONS, _reason, ()),
    Target("slurmrestd-rows", JOBS[:1], _sieved, ()),
    Target("slurmrestd-nodes", NODES, asking_slurm(lambda c: c.nodes(allow_none=True)), (SlurmrestError,)),
    Target("slurmrestd-hosts", NODES, asking_slurm(_hosts), (SlurmrestError,)),
    Target("slurmrestd-jobs", JOBS, asking_slurm(lambda c: c.jobs()), (SlurmrestError,)),
    Target("slurmrestd-job-states", STATES, asking_slurm(lambda c: c.job_states()), (SlurmrestError,)),
    Target("slurmrestd-job", JOBS, asking_slurm(lambda c: c.job_records(17)), (SlurmrestError,)),
    Target(
        "slurmrestd-partitions",
        PARTITIONS,
        asking_slurm(lambda c: [(each.partition.state, each.nodesets) for each in c.partitions()]),
        (SlurmrestError,),
    ),
    Target("slurmrestd-reservations", RESERVATIONS, asking_slurm(lambda c: c.reservations()), (SlurmrestError,)),
    Target(
        "slurmrestd-conf", CONF, asking_slurm(lambda c: (c.slurmctld_began(), c.controller_cluster())), (SlurmrestError,)
    ),
    Target("slurmrestd-diag", CONF, asking_slurm(lambda c: c.diag()), (SlurmrestError,)),
    Target("slurmdbd-jobs", RUNS, asking_slurm(lambda c: c.accounted([17, 18])), (SlurmrestError,)),
    Target("slurmrestd-ping", PINGS, asking_slurm(lambda c: c.ping()), (SlurmrestError,)),
)
