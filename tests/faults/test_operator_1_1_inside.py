"""slurm-operator 1.1.0 with all of Slurm in Kubernetes: it takes the specs, and brings tokens' public keys to the daemons.

slurmctld and slurmdbd know the stack's token keys (RS256) by `jwksKeyRef` alone; jobs run on all nodes meanwhile.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from slinky_iac import hostlist
from slinky_iac.cluster.reach import Reach
from slinky_iac.cluster_access import reach
from slinky_iac.config.reading.load import load
from slinky_iac.errors import SlurmrestAuthError, SlurmrestUnreachable
from slinky_iac.keys.public import kids
from slinky_iac.kube.kubeconfig import KubeSource
from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.parts.tokens.public import public_set as jwks
from slinky_iac.parts.tokens.rsa import TokenKey, decode
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import KubeProxy
from tests.e2e.rotating import STEPS
from tests.e2e.slurm import HELD, await_true
from tests.e2e.test_two_stacks import INSIDE, started
from tests.e2e.world import World
from tests.faults.later_operator import Inside, all_inside, lived
from tests.faults.test_token_key_rotation import Calls

NODES = ("solo-0", "solo-1", "solo-2")
SLURMCTLD, SLURMDBD = "inside-controller-0", "inside-accounting-0"


@pytest.fixture(scope="module")
def inside(world: World) -> Iterator[Inside]:
    with lived(world) as found:
        yield found


@pytest.fixture(scope="module")
def busy(inside: Inside) -> dict[str, str]:
    """A job on every node that runs one step after the other, by node."""
    jobs = {node: inside.submit(node, STEPS) for node in NODES}
    inside.await_running(*jobs.values())
    return jobs


def way(inside: Inside, tokens: str) -> Reach:
    """How gates reach Slurm with these tokens."""
    config = load({name.split(":")[1]: section for name, section in all_inside(tokens).items()})
    return replace(reach(config), kubeconfig=inside.world.env["KUBECONFIG"])


def token_key(inside: Inside) -> TokenKey:
    """The token key of the stack's configuration."""
    values = json.loads(inside.stack.pulumi("config", "--json", "--show-secrets").stdout)
    return decode("tokenKey", values["slinky-iac:tokenKey"]["value"])


def takers(inside: Inside, key: TokenKey) -> set[str]:
    """The daemons that take a token made with a key. slurmdbd's refusal looks like a slurmdbd that is down."""
    found = set()
    source = KubeSource(path=Path(inside.world.env["KUBECONFIG"]), context=None)
    with SlurmrestClient(KubeProxy(kubeconfig=source, namespace=INSIDE, service="inside-restapi"), [key]) as client:
        for daemon, ask in (("slurmctld", client.diag), ("slurmdbd", client.clusters)):
            try:
                ask(budget_s=20)
            except (SlurmrestAuthError, SlurmrestUnreachable):
                continue
            found.add(daemon)
    return found


def printed(inside: Inside, jobs: dict[str, str]) -> dict[str, list[str]]:
    """What the steps of each node's job have printed so far: the node's name, or what went wrong."""
    return {node: inside.on(node, "cat", f"/tmp/steps-{job}").splitlines() for node, job in jobs.items()}


def run_on(inside: Inside, jobs: dict[str, str]) -> None:
    """Fails where a job has ended, or was started a second time."""
    told = [inside.job(job) for job in jobs.values()]
    assert [(job["JobState"], job["Restarts"]) for job in told] == [("RUNNING", "0")] * len(NODES)


def preflight(inside: Inside) -> dict[str, set[str]]:
    """Verdicts of the preflight's checks of the token key, by name of the check."""
    checks = json.loads(inside.program("preflight", "--no-pod", "--json", check=False))["checks"]
    found: dict[str, set[str]] = {}
    for each in checks:
        if each["name"] in ("token-key", "token-set"):
            found.setdefault(each["name"], set()).add(each["verdict"])
    return found


def published(inside: Inside) -> frozenset[str]:
    """Keys in the set that the operator gives to daemons."""
    name = TOKENS.bundle_at("inside").name
    found = json.loads(inside.world.kubectl("get", "configmap", "-n", INSIDE, name, "-o", "json").stdout)
    return kids(found["data"][TOKENS.bundle].encode())


def test_it_takes_every_spec_and_a_job_runs_and_is_accounted(inside: Inside) -> None:
    assert sorted(inside.slurm("srun", "-N3", "-t1", "hostname").split()) == list(NODES)

    listed = ["sacct", "-X", "-n", "-P", "-o", "State,NodeList,ExitCode"]
    await_true("slurmdbd has the job ended", lambda: "COMPLETED" in inside.slurm(*listed), 60)
    state, nodes, code = inside.slurm(*listed).strip().split("|")
    assert (state, sorted(hostlist.expand(nodes)), code) == ("COMPLETED", list(NODES), "0:0")
    inside.stack.pulumi("preview", "--expect-no-changes")
    inside.stack.pulumi("refresh", "--preview-only", "--expect-no-changes")
    fields = {
        kind: set(inside.world.objects(f"{kind}.slinky.slurm.net", INSIDE)[0]["spec"])
        for kind in ("controllers", "accountings")
    }
    assert all("jwtKeyRef" in found and "jwksKeyRef" not in found for found in fields.values()), fields


def test_daemons_learn_the_token_key_by_jwks_key_ref_and_no_call_is_refused(
    inside: Inside, busy: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "token.pem"
    inside.program("keys", "generate", "tokens", "--out", str(file))
    inside.program("keys", "import", "tokens", "--file", str(file))
    key, before = token_key(inside), inside.uids()
    assert takers(inside, key) == set()
    calls = Calls(way(inside, "prepared"))
    calls.start()
    inside.set("keys.tokens", "prepared")
    inside.stack.up()
    both = {"token-key": {"fine"}, "token-set": {"fine"}}
    await_true("slurmctld and slurmdbd take the key's tokens", lambda: preflight(inside) == both, 150)
    inside.set("keys.tokens", "rs256")
    inside.stack.up()
    calls.end()
    after = inside.uids()
    assert {name for name in after if before.get(name) != after[name]} == {SLURMCTLD, SLURMDBD}, "once, for the file's place"
    run_on(inside, busy)
    assert takers(inside, key) == {"slurmctld", "slurmdbd"}


def test_the_key_is_replaced_under_running_jobs_and_a_killed_run_goes_on(inside: Inside, busy: dict[str, str]) -> None:
    old, before, steps = token_key(inside), inside.uids(), printed(inside, busy)
    calls = Calls(way(inside, "rs256"))
    calls.start()
    with inside.started("keys", "rotate", "tokens", "--start") as run:
        await_true("both keys are published", lambda: len(published(inside)) == 2, 120)
        os.killpg(run.pid, signal.SIGKILL)
    inside.stack.unlock()
    assert token_key(inside) == old, "nothing signs with the new key yet"
    inside.program("keys", "rotate", "tokens")
    new = token_key(inside)
    assert new != old
    await_true("a call with the new key", lambda: new.kid in calls.names, 30)
    await_true("both daemons have forgotten the old key", lambda: takers(inside, old) == set(), 150)
    calls.end()
    assert calls.names == {old.kid, new.kid}
    assert takers(inside, new) == {"slurmctld", "slurmdbd"}
    after = inside.uids()
    assert {name for name in after if before.get(name) != after[name]} == {SLURMDBD}, "slurmctld was only reconfigured"
    run_on(inside, busy)
    since = {node: lines[len(steps[node]) :] for node, lines in printed(inside, busy).items()}
    assert {node: set(lines) for node, lines in since.items()} == {node: {node} for node in NODES}, "no step failed"
    assert published(inside) == {new.kid}
    assert str(inside.stack.outputs()["tokenKeySet"]).encode() == jwks([new])
    rows = json.loads(inside.program("keys", "verify", "--json"))["checks"]
    tokens = [row["verdict"] for row in rows if row["what"].startswith("token key")]
    assert tokens == ["agrees"] * 4, rows
    shown = json.loads(inside.program("keys", "show", "--json"))["keys"]
    assert {row["fingerprint"] for row in shown if row["key"] in ("tokenKey", "token key")} == {f"kid {new.kid}"}
    lines = [line for key in (old, new) for line in key.pem.decode().splitlines()[1:-1]]
    assert [line for line in lines if any(line in said for said in inside.said)] == []


def test_a_gate_with_it_gives_up_the_idle_node_and_then_waits_for_a_busy_one(inside: Inside, busy: dict[str, str]) -> None:
    inside.slurm("scancel", *busy.values())
    await_true("no job runs", lambda: not inside.slurm("squeue", "-h").strip(), 60)
    jobs = {"solo-0": inside.submit("solo-0", HELD, "-t20"), "solo-2": inside.submit("solo-2", HELD, "-t5")}
    inside.await_running(*jobs.values())

    inside.set("nodesets.solo.replicas", "2")
    assert [node["node"] for node in inside.plan()["nodes"]] == ["solo-1"]
    inside.stack.up()
    await_true("solo-1 is gone", lambda: inside.workers() == ["solo-0", "solo-2"], 90)

    inside.set("nodesets.solo.replicas", "1")
    assert [node["node"] for node in inside.plan()["nodes"]] == ["solo-2"], "its job ends first"
    run = started(inside.stack, "up", "--skip-preview")
    try:
        await_true("it is drained", lambda: "drain" in inside.slurm("sinfo", "-h", "-n", "solo-2", "-o", "%T"), 120)
        assert inside.job(jobs["solo-2"])["JobState"] == "RUNNING"
        assert run.poll() is None, "it waits for the job"
        inside.finish(jobs["solo-2"])
        out, _ = run.communicate(timeout=300)
        assert run.returncode == 0, out
    finally:
        run.kill()
    await_true("solo-2 is gone", lambda: inside.workers() == ["solo-0"], 90)
    assert inside.job(jobs["solo-0"])["JobState"] == "RUNNING"
    rows = inside.slurm("sacct", "-X", "-D", "-n", "-P", "-j", jobs["solo-2"], "-o", "State,NodeList,ExitCode").split()
    assert rows == ["COMPLETED|solo-2|0:0"]
    state = json.loads(inside.stack.pulumi("stack", "export").stdout)["deployment"]["resources"]
    gates = [each["outputs"] for each in state if str(each["type"]).endswith("slurm:NodeSetScale")]
    assert [(gate["tokens"], gate["jwtSecret"]) for gate in gates] == [("rs256", "inside-token-key")]
