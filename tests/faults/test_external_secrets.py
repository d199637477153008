"""The same with a real operator as the store: keys are awaited, seen when they change, and replaced in a stop.

External Secrets makes the Secrets (lab/store.py): late, as their owner, with every change of what they are copied from. Here
these are Secrets of another namespace.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from lab import paths
from lab import store as external_secrets
from lab.stacks import Stack, imported_keys
from tests.e2e.rotating import NAMESPACE, VIA, joins, lab_has
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import World
from tests.faults.test_external_keys import (
    JWT,
    SLURM_KEY,
    a_changed_key_is_refused,
    running,
    settings,
    waits_for_a_late_store,
)
from tests.raw_keys import raw_key

LAST = raw_key("another new key of the store", 256)
VAULT = "vault"
API = "external-secrets.io/v1"


@dataclass
class Store:
    """Secrets of a namespace as a vault, and what External Secrets is asked to copy from there."""

    world: World

    def ask(self, *places: tuple[str, str]) -> None:
        """Have these Secrets made, and kept as the vault has them."""
        access = {"name": "vault", "key": "kubeconfig"}
        provider = {"kubernetes": {"remoteNamespace": VAULT, "authRef": access}}
        found = [
            _object("v1", "Secret", NAMESPACE, "vault", stringData={"kubeconfig": paths.KUBECONFIG.read_text()}),
            _object(API, "SecretStore", NAMESPACE, "vault", spec={"provider": provider}),
        ]
        for secret, entry in places:
            spec = {
                "refreshInterval": "1s",
                "secretStoreRef": {"name": "vault", "kind": "SecretStore"},
                "target": {"name": secret, "creationPolicy": "Owner"},
                "data": [{"secretKey": entry, "remoteRef": {"key": secret, "property": entry}}],
            }
            found.append(_object(API, "ExternalSecret", NAMESPACE, secret, spec=spec))
        self._apply(found)

    def keep(self, place: tuple[str, str], raw: bytes) -> None:
        """Have this in the vault."""
        data = {place[1]: base64.b64encode(raw).decode()}
        self._apply([_object("v1", "Secret", VAULT, place[0], data=data)])

    def put(self, place: tuple[str, str], raw: bytes) -> None:
        """Have this in the vault, and copied."""
        self.keep(place, raw)
        await_true("External Secrets has copied it", lambda: self.copied(place) == raw, 60)

    def copied(self, place: tuple[str, str]) -> bytes | None:
        """The entry of the Secret that Slurm reads; None where there is none."""
        said = self.world.kubectl("get", "secret", place[0], "-n", NAMESPACE, "-o", "json", check=False)
        if said.returncode:
            return None
        coded = json.loads(said.stdout).get("data", {}).get(place[1])
        return None if coded is None else base64.b64decode(coded)

    def _apply(self, found: list[dict[str, Any]]) -> None:
        line = ["apply", "--server-side", "--field-manager=site", "--force-conflicts", "-f", "-"]
        self.world.kubectl(*line, stdin=yaml.safe_dump_all(found))


def _object(version: str, kind: str, namespace: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **more}


@pytest.fixture(scope="module")
def store(world: World) -> Iterator[Store]:
    world.vacate()
    before = imported_keys()
    for name in (NAMESPACE, VAULT):
        world.kubectl("create", "namespace", name)
    with external_secrets.running():
        yield Store(world)
        world.vacate()  # gates sign with the Secret's key, which slurmctld has
    for name in (NAMESPACE, VAULT):
        world.kubectl("delete", "namespace", name)
    lab_has(before["slurmKey"], before["jwtKey"])


@pytest.fixture(scope="module")
def stack(world: World, store: Store) -> Stack:
    return world.stack("external-secrets", settings())


def test_the_first_up_waits_for_a_store_that_is_late(stack: Stack, store: Store, slurm: Slurm) -> None:
    waits_for_a_late_store(stack, slurm, lambda: store.ask(SLURM_KEY, JWT), store.put)


def test_a_key_that_the_store_changes_is_refused_while_jobs_go_on(stack: Stack, store: Store, slurm: Slurm) -> None:
    a_changed_key_is_refused(stack, slurm, store.put)


def test_garbage_from_the_store_is_refused_by_preview_and_stop(stack: Stack, store: Store, slurm: Slurm) -> None:
    job = running(slurm)
    for garbage in (b"too short", b"a" * 64):
        store.put(SLURM_KEY, garbage)
        assert stack.pulumi("preview", check=False).returncode != 0
        assert stack.up(check=False).returncode != 0
        done = stack.program("keys", "rotate", "slurm", "--stop", "--via", VIA, timeout=600)
        assert done.returncode != 0
        assert f"Secret {NAMESPACE}/{SLURM_KEY[0]}" in done.stderr
        assert garbage.decode() not in done.stderr
    assert slurm.job_state(job) == frozenset({"RUNNING"})
    store.put(SLURM_KEY, imported_keys()["slurmKey"])
    stack.pulumi("preview", "--expect-no-changes")
    slurm.user("scancel", str(job))
    slurm.await_completed(job)


def test_what_somebody_writes_over_the_secret_is_mended_by_its_maker(stack: Stack, store: Store) -> None:
    patch = json.dumps({"data": {SLURM_KEY[1]: base64.b64encode(b"somebody else's").decode()}})
    store.world.kubectl("patch", "secret", SLURM_KEY[0], "-n", NAMESPACE, "--type=merge", "-p", patch)
    await_true("it is the store's again", lambda: store.copied(SLURM_KEY) == imported_keys()["slurmKey"], 60)
    stack.pulumi("preview", "--expect-no-changes")


def test_a_secret_that_is_gone_ends_preview_and_up_while_jobs_go_on(stack: Stack, store: Store, slurm: Slurm) -> None:
    job = running(slurm)
    store.world.kubectl("delete", "externalsecret", SLURM_KEY[0], "-n", NAMESPACE)
    await_true("its Secret is deleted with it", lambda: store.copied(SLURM_KEY) is None, 60)
    done = stack.pulumi("preview", check=False)
    assert done.returncode != 0
    assert f"Secret {NAMESPACE}/{SLURM_KEY[0]} with entry {SLURM_KEY[1]} isn't there any more" in done.stdout + done.stderr
    assert stack.up(check=False).returncode != 0
    stop = stack.program("keys", "rotate", "slurm", "--stop", "--via", VIA, timeout=600)
    assert stop.returncode != 0
    assert "nothing could start with it" in stop.stderr
    assert slurm.job_state(job) == frozenset({"RUNNING"})
    store.ask(SLURM_KEY)
    await_true("it is back", lambda: store.copied(SLURM_KEY) == imported_keys()["slurmKey"], 60)
    stack.pulumi("preview", "--expect-no-changes")
    slurm.user("scancel", str(job))
    slurm.await_completed(job)


def test_a_slurm_key_of_the_store_is_carried_through_in_a_stop(stack: Stack, store: Store, slurm: Slurm) -> None:
    old = imported_keys()["slurmKey"]
    store.put(SLURM_KEY, LAST)
    done = stack.program("keys", "rotate", "slurm", "--stop", "--via", VIA, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    slurm.await_registered("gpu-0", "metal-1", "metal-2")
    assert (joins(old), joins(LAST)) == (False, True)
    assert sorted(slurm.user("srun", "-N3", "-w", "gpu-0,metal-1,metal-2", "-t1", "hostname").split()) == [
        "gpu-0", "metal-1", "metal-2",
    ]  # fmt: skip
    stack.pulumi("preview", "--expect-no-changes")
    keys = json.loads(stack.program("status", "--json").stdout)["keys"]
    assert {key["name"]: key["cluster"] for key in keys} == {"slurm.key": "same", "JWT key": "same"}
