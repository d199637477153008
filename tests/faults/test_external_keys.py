"""Keys that a store makes: awaited by the first `up`, seen when they change, and replaced in a stop. No copy in this stack.

The store is what an operator such as External Secrets is to the cluster: a process of its own that makes Secrets late, and
not whole at once, and later writes another key into one.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from lab.demo import apply_lines_of
from lab.stacks import Stack, imported_keys
from tests.e2e.rotating import NAMESPACE, VIA, accepted, lab_has
from tests.e2e.slurm import Slurm
from tests.e2e.world import Settings, World, dev_settings
from tests.integration import leaks
from tests.raw_keys import raw_key

Place = tuple[str, str]
JWT, SLURM_KEY = ("store-jwt", "token"), ("store-slurm", "cluster")
NEW = raw_key("a new key of the store", 256)
MAKER = "the store of this test"


def settings() -> Settings:
    """The lab's stack with keys that somebody else makes, in a namespace that somebody else made."""
    found = dev_settings()
    found["slinky-iac:nodesets"] = {"gpu": {"replicas": 1, "pod": {"terminationGrace": "2s"}}}
    found["slinky-iac:partitions"] = {}
    found["slinky-iac:cluster"] |= {"createNamespace": False}
    found["slinky-iac:keys"] = {
        "source": "external",
        "slurmKeyFrom": {"secret": SLURM_KEY[0], "key": SLURM_KEY[1]},
        "jwtKeyFrom": {"secret": JWT[0], "key": JWT[1]},
        "madeBy": MAKER,
        "wait": "2m",
        "maxAge": "90d",
    }
    return found


@dataclass
class Store:
    """Writes Secrets as their owner."""

    world: World

    def put(self, place: tuple[str, str], raw: bytes | None) -> None:
        """One Secret with its entry; None: without it."""
        data = {} if raw is None else {place[1]: base64.b64encode(raw).decode()}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": place[0], "namespace": NAMESPACE}, "data": data}
        line = ["apply", "--server-side", "--field-manager=store", "--force-conflicts", "-f", "-"]
        self.world.kubectl(*line, stdin=yaml.safe_dump(body))


@pytest.fixture(scope="module")
def store(world: World) -> Iterator[Store]:
    world.vacate()
    world.kubectl("create", "namespace", NAMESPACE)
    before = imported_keys()
    yield Store(world)
    world.vacate()  # gates sign with the Secret's key, which slurmctld has
    world.kubectl("delete", "namespace", NAMESPACE)
    lab_has(before["slurmKey"], before["jwtKey"])


@pytest.fixture(scope="module")
def stack(world: World, store: Store) -> Stack:
    return world.stack("external", settings())


def test_an_up_without_the_secrets_ends_with_who_makes_them(stack: Stack, store: Store) -> None:
    stack.pulumi("config", "set", "--path", "slinky-iac:keys.wait", "3s")
    done = stack.up(check=False)
    assert done.returncode != 0
    assert f"Secret {NAMESPACE}/{SLURM_KEY[0]} with entry {SLURM_KEY[1]} isn't there" in done.stdout + done.stderr
    assert f"{MAKER} makes it" in done.stdout + done.stderr
    assert store.world.objects("nodesets.slinky.slurm.net", NAMESPACE) == []


def waits_for_a_late_store(
    stack: Stack, slurm: Slurm, begin: Callable[[], None], put: Callable[[Place, bytes], None]
) -> None:
    """The first `up`: the store begins after 5 seconds, and has the keys after 5 more."""
    stack.pulumi("config", "set", "--path", "slinky-iac:keys.wait", "2m")
    keys, began = imported_keys(), time.monotonic()

    def late() -> None:
        time.sleep(5)  # the store's own delay: nothing here could be waited for
        begin()
        time.sleep(5)
        put(SLURM_KEY, keys["slurmKey"])
        put(JWT, keys["jwtKey"])

    making = threading.Thread(target=late)
    making.start()
    stack.up()
    making.join()
    assert time.monotonic() - began > 10
    apply_lines_of(stack)
    slurm.await_registered("gpu-0")
    stack.pulumi("preview", "--expect-no-changes")
    since = stack.outputs()["keysSince"]
    assert {name: bool(text) for name, text in since.items()} == {"slurmKey": True, "jwtKey": True}


def test_the_first_up_waits_for_a_store_that_is_late(stack: Stack, store: Store, slurm: Slurm) -> None:
    def begin() -> None:
        for place in (SLURM_KEY, JWT):
            store.put(place, None)

    waits_for_a_late_store(stack, slurm, begin, store.put)


def test_neither_state_nor_settings_nor_history_hold_a_key(stack: Stack, tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(stack.pulumi("stack", "export", "--show-secrets").stdout)
    (tmp_path / "config.yaml").write_text(stack.config_file.read_text())
    (tmp_path / "history.json").write_text(stack.pulumi("stack", "history", "--json", "--show-secrets").stdout)
    assert [place for raw in imported_keys().values() for place in leaks.find(raw, tmp_path)] == []


def test_status_and_preflight_know_the_key_and_its_age(stack: Stack) -> None:
    keys = json.loads(stack.program("status", "--json").stdout)["keys"]
    assert {key["name"]: key["cluster"] for key in keys} == {"slurm.key": "same", "JWT key": "same"}
    said = stack.program("preflight", "--no-pod", "--all")
    assert "age of slurm.key" in said.stdout, said.stdout + said.stderr


def running(slurm: Slurm) -> int:
    """A job that runs on."""
    job = int(slurm.user("sbatch", "--parsable", "-w", "gpu-0", "-D", "/tmp", "-o", "/dev/null", "--wrap=sleep 600"))
    slurm.await_running(job)
    return job


def a_changed_key_is_refused(stack: Stack, slurm: Slurm, put: Callable[[Place, bytes], None]) -> None:
    """The store puts another slurm.key there while a job runs, and then the one that it had."""
    job = running(slurm)
    put(SLURM_KEY, NEW)
    done = stack.pulumi("preview", check=False)
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert f"Secret {NAMESPACE}/{SLURM_KEY[0]} with entry {SLURM_KEY[1]} has another key since" in said
    assert "slurm-worker-gpu-0" in said
    assert "keys rotate slurm --stop" in said
    keys = json.loads(stack.program("status", "--json").stdout)["keys"]
    assert {key["name"]: key["cluster"] for key in keys} == {"slurm.key": "differs", "JWT key": "same"}
    assert stack.up(check=False).returncode != 0
    assert slurm.job_state(job) == frozenset({"RUNNING"})
    put(SLURM_KEY, imported_keys()["slurmKey"])
    stack.pulumi("preview", "--expect-no-changes")
    slurm.user("scancel", str(job))
    slurm.await_completed(job)


def test_a_key_that_the_store_changes_is_refused_while_jobs_go_on(stack: Stack, store: Store, slurm: Slurm) -> None:
    a_changed_key_is_refused(stack, slurm, store.put)


def test_a_stop_without_a_new_key_stops_nothing(stack: Stack, slurm: Slurm) -> None:
    done = stack.program("keys", "rotate", "jwt", "--stop", "--via", VIA, timeout=600)
    assert done.returncode != 0
    assert "has the key that the cluster runs with" in done.stderr
    slurm.await_registered("gpu-0")


def test_a_jwt_key_of_the_store_is_brought_to_daemons_without_a_stop(stack: Stack, store: Store, slurm: Slurm) -> None:
    """Gates sign with the Secret's key, so a stop could drain nothing until slurmctld has it."""
    old = imported_keys()
    store.put(JWT, NEW)
    done = stack.program("keys", "rotate", "jwt", "--stop", "--via", VIA, timeout=600)
    assert done.returncode != 0
    assert "nothing could be drained" in done.stderr
    lab_has(old["slurmKey"], NEW)
    assert (accepted(old["jwtKey"]), accepted(NEW)) == (False, True)
    refused = stack.pulumi("preview", check=False).stdout
    (since,) = set(re.findall(r"keys\.acceptedChange: (\S+Z)", refused))
    stack.pulumi("config", "set", "--path", "slinky-iac:keys.acceptedChange", since)
    stack.up()
    slurm.await_registered("gpu-0")
    stack.pulumi("preview", "--expect-no-changes")
    keys = json.loads(stack.program("status", "--json").stdout)["keys"]
    assert {key["name"]: key["cluster"] for key in keys} == {"slurm.key": "same", "JWT key": "same"}
