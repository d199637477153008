"""`slurmrest.user` with each AdminLevel on real Slurm: what works, and that one too low is found before anything is drained.

The table in docs/security.md is :data:`MAY`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from lab.slurm.cluster import Cluster
from slinky_iac import names
from slinky_iac.drain.observe import cluster_view
from slinky_iac.errors import SlurmrestAuthError, SlurmrestRefused
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.level import require_admin
from tests.e2e.gated import Gated
from tests.e2e.own_hosts import client_of, make_whole, metal
from tests.e2e.slurm import Slurm, await_true

OURS = names.drain_reason("level", "metal", "what a level may do")
REFUSED = 2010
"""ESLURM_USER_ID_MISSING: "Invalid user id", slurmctld's word for "you may not"."""
USERS = {"drainadm": "Administrator", "drainop": "Operator", "bob": "None"}
SEES = "sees all jobs with PrivateData=jobs"
MAY = {
    "drain": {"drainadm"},
    "change a partition": {"drainadm"},
    "delete a node": {"drainadm"},
    "reconfigure": {"drainadm"},
    "requeue": {"drainadm", "drainop"},
    "cancel": {"drainadm", "drainop"},
    "slurmdbd's jobs": {"drainadm", "drainop", "bob"},
    SEES: {"drainadm", "drainop"},
}


def allowed(act: Callable[[], bool]) -> bool:
    """Whether Slurm does it; fails where it refuses for another reason than the user."""
    try:
        return act()
    except SlurmrestRefused as error:
        if error.error_number != REFUSED:
            raise
        return False


def ok(client: SlurmrestClient, path: str, **params: str) -> bool:
    """Whether a question that no method of the client asks is answered without an error."""
    answer = client._sender.client.get(path, params=params)
    errors = answer.json()["errors"]
    assert answer.status_code == 200 or {each["error_number"] for each in errors} == {REFUSED}, answer.text
    return not errors


def acts(client: SlurmrestClient, job: int) -> dict[str, Callable[[], bool]]:
    """One of everything that gates and commands do."""

    def drain() -> bool:
        result = client.drain(["metal-2"], OURS)
        for error in result.errors:
            raise error
        return result.complete and client.undrain(["metal-2"]).complete

    def partition() -> bool:
        client.set_partition_state("metal", "UP")
        return True

    def delete() -> bool:
        return client.delete_node("no-such-node") is False

    def accounted() -> bool:
        answer = client._sender.client.get(f"/slurmdb/{client.version()}/jobs/", params={"step": str(job)})
        return job in {each["job_id"] for each in answer.json()["jobs"]}

    return {
        "drain": drain,
        "change a partition": partition,
        "delete a node": delete,
        "reconfigure": lambda: ok(client, f"/slurm/{client.version()}/reconfigure/"),
        "requeue": lambda: all(word.done for word in client.requeue_jobs([job])),
        "slurmdbd's jobs": accounted,
        SEES: lambda: job in {each.job_id for each in client.jobs().jobs},
        "cancel": lambda: all(word.done for word in client.cancel_jobs([job])),
    }


def test_admin_is_the_least_level_that_does_all_of_it(own_cluster: Cluster, own: Slurm) -> None:
    usual = own_cluster.site.nodesets.read_text()
    own_cluster.apply_nodesets_conf(f"{usual}PrivateData=jobs\n")
    try:
        did: dict[str, set[str]] = {what: set() for what in MAY}
        for user in USERS:
            job = metal(own, "-w", "metal-1", "--requeue")
            own.await_running(job)
            await_true("slurmdbd has the job", partial(own.accounted, job), 30)
            with client_of(own_cluster, user=user) as client:
                for what, act in acts(client, job).items():
                    if allowed(act):
                        did[what].add(user)
            make_whole(own_cluster, own)
        assert did == MAY
    finally:
        own_cluster.apply_nodesets_conf(usual)


def test_each_level_is_read_as_slurmdbd_has_it(own_cluster: Cluster, own: Slurm) -> None:
    for user, level in USERS.items():
        with client_of(own_cluster, user=user) as client:
            assert client.admin_level(user) == level
            assert client.slurm_user() == "slurm"
            if level == "Administrator":
                require_admin(client, user)
                assert cluster_view(client).nodes
            else:
                with pytest.raises(SlurmrestAuthError, match=f"{user} has AdminLevel={level}"):
                    require_admin(client, user)
    with client_of(own_cluster, user="alice") as client:
        assert client.admin_level("stranger") == ""


def test_a_level_too_low_ends_a_scale_in_before_a_node_is_drained_or_a_pod_marked(gated: Gated, slurm: Slurm) -> None:
    gated.reset()
    job = slurm.submit("-p", "gpu", "-w", "gpu-0", "-t", "5")
    slurm.await_running(job)
    gated.write(2, slurmrest={"user": "drainop"})
    preview = gated.stack.pulumi("preview")
    assert "drainop has AdminLevel=Operator" in " ".join((preview.stdout + preview.stderr).split())
    failed = gated.try_up()
    assert failed.returncode != 0
    said = " ".join((failed.stdout + failed.stderr).split())
    assert "drainop has AdminLevel=Operator in slurmdbd, and drains need AdminLevel=Admin" in said
    assert "sacctmgr modify user drainop set adminlevel=Admin" in said
    assert not any("DRAIN" in states for node, states in slurm.states().items() if node.startswith("gpu-"))
    assert not any(gated.annotations().values())
    assert gated.pods() == ["gpu-0", "gpu-1", "gpu-2"]

    slurm.admin("sacctmgr", "-i", "modify", "user", "drainop", "set", "adminlevel=admin")
    try:
        gated.stack.up()
        assert len(gated.pods()) == 2
        assert "RUNNING" in slurm.job_state(job)
    finally:
        slurm.admin("sacctmgr", "-i", "modify", "user", "drainop", "set", "adminlevel=operator")
        slurm.cancel_all()
    gated.reset()
