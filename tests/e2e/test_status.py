"""One screen about a real cluster: what is there, what is drained and whose it is, and what can't be asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lab import slurm as outside
from lab.stacks import imported_keys
from slinky_iac.keys.raw import fingerprint
from tests.e2e.gated import STACK, Gated
from tests.e2e.slurm import Slurm, await_true

METAL = "metal-1"


STANDS_ON = STACK


@pytest.fixture(scope="module", autouse=True)
def metal(slurm: Slurm) -> Iterator[None]:
    """The metal host that a test drains comes back."""
    yield
    slurm.admin("scontrol", "update", f"nodename={METAL}", "state=undrain", check=False)


def ask(gated: Gated, *more: str, **env: str) -> tuple[int, str]:
    """Exit code and output of `status`."""
    done = gated.stack.program("status", "--stack", gated.stack.name, *more, timeout=120, **env)
    assert done.stdout, done.stderr
    return done.returncode, done.stdout


def seen(gated: Gated, **env: str) -> tuple[int, dict[str, Any]]:
    code, text = ask(gated, "--json", **env)
    found: dict[str, Any] = json.loads(text)
    assert found["schema"] == 1
    return code, found


def test_a_cluster_that_is_well_is_wholly_known(gated: Gated) -> None:
    code, found = seen(gated)
    assert (code, found["unknown"]) == (0, [])
    states = {each["name"]: each["state"] for each in found["endpoints"]}
    assert {states[name] for name in ("Kubernetes API", "slurmrestd", "slurmctld", "slurmdbd")} == {"up"}
    assert all(0 <= each["latency_ms"] < 10_000 for each in found["endpoints"] if each["state"] == "up")
    releases = {each["daemon"]: each["release"] for each in found["versions"]}
    assert releases["slurm-operator"] == "1.0.1"
    assert (releases["slurmctld"], releases["slurmrestd"][:5], releases["slurmd"][:5]) == ("26.05", "26.05", "26.05")
    groups = {each["name"]: each for each in found["groups"]}
    assert (groups["gpu"]["wanted"], groups["gpu"]["pods"], groups["gpu"]["ready"]) == (3, 3, 3)
    assert (groups["gpu"]["states"], groups["metal"]["states"]) == ({"idle": 3}, {"idle": 2})
    assert found["drains"] == []
    prints = [fingerprint(raw) for raw in imported_keys().values()]
    assert [(each["fingerprint"], each["cluster"]) for each in found["keys"]] == [(each, "same") for each in prints]
    assert all(found["taken_at"] - each["made"] >= 0 for each in found["keys"])
    assert (found["last"]["result"], found["last"]["later"]) == ("succeeded", "")


def test_the_screen_fits_and_shows_no_key(gated: Gated) -> None:
    code, text = ask(gated)
    assert code == 0
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
    for raw in imported_keys().values():
        assert raw.decode("latin-1") not in text


def test_drains_of_three_owners_with_the_jobs_on_them_and_nothing_changed(gated: Gated, slurm: Slurm) -> None:
    job = slurm.submit("-p", "gpu", "-w", "gpu-1", seconds=300)
    slurm.await_running(job)
    ours = f"slinky-iac:{gated.stack.name}/gpu: scale-in 3->2"
    for node, reason in (("gpu-1", ours), ("gpu-2", "slinky-iac:other/gpu: x"), (METAL, "a fan is loud")):
        slurm.admin("scontrol", "update", f"nodename={node}", "state=drain", f"reason={reason}")
    before = {name: (states, slurm.reason(name)) for name, states in slurm.states().items()}
    code, found = seen(gated)
    rows = {each["node"]: each for each in found["drains"]}
    assert code == 0
    assert {node: row["owner"] for node, row in rows.items()} == {
        "gpu-1": "this stack", "gpu-2": "stack other", METAL: rows[METAL]["owner"],
    }  # fmt: skip
    assert rows[METAL]["owner"] in ("root", "somebody else"), "Slurm doesn't always say who"
    assert (rows["gpu-1"]["state"], rows["gpu-1"]["jobs"]) == ("draining", [f"{job} alice"])
    assert (rows[METAL]["state"], rows[METAL]["reason"], rows[METAL]["group"]) == ("drained", "a fan is loud", "metal")
    groups = {each["name"]: each["states"] for each in found["groups"]}
    assert groups["gpu"] == {"drained": 1, "draining": 1, "idle": 1}
    assert {name: (states, slurm.reason(name)) for name, states in slurm.states().items()} == before


def test_a_slurmctld_that_is_stopped_is_down_and_its_nodes_are_unknown(gated: Gated) -> None:
    outside.daemon_stop("ctl", "slurmctld")
    try:
        code, found = seen(gated)
    finally:
        outside.daemon_start("ctl", "slurmctld")
    assert code == 4
    states = {each["name"]: each["state"] for each in found["endpoints"]}
    assert (states["Kubernetes API"], states["slurmrestd"], states["slurmctld"]) == ("up", "up", "down")
    assert (found["drains"], found["groups"][0]["pods"], found["groups"][0]["states"]) == (None, 3, None)
    await_true("slurmctld answers again", lambda: seen(gated)[0] == 0, 60, every=2)


def test_without_kubernetes_all_of_it_is_unknown_and_the_state_still_speaks(gated: Gated) -> None:
    code, found = seen(gated, KUBECONFIG="/nonexistent")
    assert code == 4
    assert [each["state"] for each in found["endpoints"]][:4] == ["down", "unknown", "unknown", "unknown"]
    assert found["drains"] is None
    assert all(each["states"] is None for each in found["groups"] if each["kind"] == "nodeset")
    assert all(each["fingerprint"].startswith("SHA256:") and each["cluster"] == "unknown" for each in found["keys"])
    assert found["last"]["result"] == "succeeded"
    assert any("kubeconfig" in each for each in found["unknown"])


def test_the_stacks_own_diagram(gated: Gated) -> None:
    done = gated.cli("diagram", "--stack", gated.stack.name, "--format", "mermaid")
    assert done.returncode == 0, done.stderr
    assert "NodeSet gpu" in done.stdout
    assert "metal-[1-2]" in done.stdout
