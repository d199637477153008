"""One look becomes one screen: each part says what was answered, and what wasn't is unknown, never fine."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest

from slinky_iac import external_keys
from slinky_iac.cluster.snapshot import Workers
from slinky_iac.commands.status.ask import _key
from slinky_iac.commands.status.build import last_up, status
from slinky_iac.commands.status.facts import EXTERNAL_KEY
from slinky_iac.commands.status.model import NOT_ASKED, Answer, Drained, Guarded, Key, Seen, SeenKey, Status
from slinky_iac.commands.status.nodes import word
from slinky_iac.slurmrest.lists import NodesAnswer
from slinky_iac.text import moment
from tests.made.kubernetes import secret as made_secret
from tests.made.nodesets import nodeset
from tests.made.slurm import cluster
from tests.made.slurm import pings as made_pings
from tests.unit.status.made import (
    HOUR,
    NOW,
    OURS,
    PRINTS,
    answers,
    configured,
    facts,
    fenced,
    known_facts,
    node,
    nodes,
    pod,
    resources,
    worker,
)
from tests.unit.status.made import nodeset as seen_nodeset


def made(**more: Any) -> Status:
    return status(known_facts(), answers(**more))


def test_the_state_file_tells_who_where_and_by_which_keys() -> None:
    found = known_facts()
    assert (found.stack, found.cluster, found.operator, found.operator_namespace) == ("prod", "atlas", "1.2.1", "slinky")
    assert (found.slurmctld, found.slurmdbd) == ("ctl.example.org:6817", "dbd.example.org:6819")
    assert found.reach is not None
    assert (found.reach.namespace, found.reach.restapi_service, found.reach.context) == ("slurm", "slurm-restapi", "prod-eu")
    assert [(key.name, key.secret, key.entry, key.fingerprint) for key in found.keys] == [
        ("slurm.key", "slurm-auth-slurm", "slurm.key", PRINTS[0]),
        ("JWT key", "slurm-auth-jwths256", "jwt_hs256.key", PRINTS[1]),
    ]


def test_a_stack_without_gates_is_reached_as_its_resources_say() -> None:
    bare = [each for each in resources() if "dynamic" not in each["type"]]
    reach = facts("prod", bare).reach
    assert reach is not None
    assert (reach.restapi_service, reach.jwt_secret, reach.jwt_entry) == (
        "slurm-restapi",
        "slurm-auth-jwths256",
        "jwt_hs256.key",
    )
    assert (reach.context, reach.kubeconfig) == ("prod-eu", None)


def test_an_empty_state_has_nothing_to_ask() -> None:
    shown = status(facts("prod", []), Seen(now=NOW, history=Answer((), 1)))
    assert (shown.holds, shown.endpoints, shown.groups, shown.drains, shown.unknown) == (0, (), (), (), ())


def test_endpoints_answer_with_their_time() -> None:
    shown = [(each.name, each.state, each.latency_ms) for each in made().endpoints]
    assert shown == [
        ("Kubernetes API", "up", 42),
        ("slurmrestd", "up", 31),
        ("slurmctld", "up", 18),
        ("slurmdbd", "up", 22),
        ("slurmrestd for users", "up", 3),
    ]


def test_versions_are_what_each_daemon_says_of_itself() -> None:
    shown = [(each.daemon, each.release) for each in made().versions]
    assert shown == [
        ("slurm-operator", "1.2.1"),
        ("slurmrestd", "26.05.5"),
        ("slurmctld", "26.05"),
        ("slurmdbd", "unknown"),
        ("slurmd", "26.05.5"),
        ("slurmd", "25.11.2"),
    ]


def test_an_operator_of_another_release_is_told() -> None:
    (operator, *_) = made(operator=Answer(("x/slurm-operator:1.1.0",), 1)).versions
    assert (operator.release, operator.text) == ("1.1.0", "but the stack is written for 1.2.1")


def test_a_protocol_that_nobody_knows_is_no_release() -> None:
    newer = made(slurmdbd=Answer((cluster("atlas", "h", 6817, 99999),), 1))
    assert next(each.release for each in newer.versions if each.daemon == "slurmctld") == "unknown"


def test_nodes_by_nodeset_and_state() -> None:
    gpu, cpu, metal, others = made().groups
    assert (gpu.name, gpu.wanted, gpu.pods, gpu.ready) == ("gpu", 3, 3, 3)
    assert gpu.states == {"allocated": 1, "draining": 1, "mixed": 1}
    assert cpu.states == {"drained": 1, "idle": 1, "not registered": 1, "not responding": 1}
    assert "1 without a pod" in cpu.text
    assert "ImagePullBackOff" in cpu.text
    assert "up to 64" in cpu.text
    assert (metal.kind, metal.wanted, metal.states, metal.text) == ("metal", 2, {"drained": 2}, "held: metal-2")
    assert (others.kind, others.states) == ("other", {"allocated": 1, "drained": 1})


def test_a_frozen_nodeset_is_told() -> None:
    frozen = nodeset("slurm-worker-gpu", 3, frozen="incident 4711")
    gpu = made(workers={"gpu": Answer(Workers(frozen, ()), 5)}).groups[0]
    assert "frozen by its annotation slinky-iac/freeze (incident 4711)" in gpu.text


def test_a_change_that_the_operator_has_not_acted_on_is_told() -> None:
    """It may wait for slurmrestd, or not run, or hang in an earlier look."""
    late = nodeset("slurm-worker-gpu", 3, generation=8, observed_generation=5)
    gpu = made(workers={"gpu": Answer(Workers(late, ()), 5)}).groups[0]
    assert "slurm-operator has not acted on the NodeSet's last change" in gpu.text
    assert "has not acted" not in made().groups[0].text


def test_every_node_that_slurmctld_lists_is_counted_once() -> None:
    counted = sum(sum(each.states.values()) for each in made().groups if each.states)
    unregistered = sum(each.states.get("not registered", 0) for each in made().groups if each.states)
    assert counted - unregistered == len(nodes())


def test_a_nodeset_that_is_gone_and_one_that_could_not_be_asked_differ() -> None:
    gone = made(workers={"gpu": Answer(Workers(), 1)})
    gpu, cpu = gone.groups[:2]
    assert (gpu.pods, gpu.text) == (0, "there is no NodeSet slurm-worker-gpu")
    assert (cpu.pods, cpu.states) == (None, None)


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ("IDLE", "idle"),
        ("MIXED+DRAIN", "draining"),
        ("IDLE+COMPLETING+DRAIN", "draining"),
        ("IDLE+DRAIN", "drained"),
        ("DOWN+DRAIN", "drained"),
        ("IDLE+DRAIN+UNDRAIN", "idle"),
        ("DOWN", "down"),
        ("IDLE+NOT_RESPONDING", "not responding"),
        ("ALLOCATED+COMPLETING", "completing"),
        ("IDLE+RESERVED", "reserved"),
        ("DYNAMIC_NORM", "unknown"),
        ("UNKNOWN", "unknown"),
    ],
)
def test_one_word_for_each_state(states: str, said: str) -> None:
    assert word(node("n", states)) == said


def test_drains_name_their_owner_and_whose_jobs_run_there() -> None:
    rows = {row.node: row for row in made().drains or ()}
    assert {name: row.owner for name, row in rows.items()} == {
        "gpu-2": "this stack",
        "cpu-1": "slurm-operator",
        "metal-1": "carol",
        "metal-2": "this stack",
        "old-2": "stack beta",
    }
    assert rows["gpu-2"].jobs == ("71 alice",)
    assert (rows["gpu-2"].reason, rows["gpu-2"].returns) == (OURS, "2027-01-15T10:00:00Z")
    assert {row.group for row in rows.values()} == {"gpu", "cpu", "metal", "other nodes"}


def test_a_pod_that_is_only_marked_is_shown_without_an_owner() -> None:
    marked = pod("gpu", 0, annotations={"slinky-iac/scale-in": '{"owner":"prod/gpu","cost":-1,"was":null}'})
    shown = made(workers={"gpu": seen_nodeset("gpu", 1, marked)}).drains or ()
    row = next((each for each in shown if each.node == "gpu-0"), None)
    assert row == Drained("gpu-0", "gpu", "mixed", "", "marked by a scale-in", "", ("71 alice",))


def test_keys_by_name_age_and_fingerprint() -> None:
    slurm, jwt = made().keys
    assert (slurm.secret, slurm.fingerprint, slurm.cluster) == ("slurm/slurm-auth-slurm", PRINTS[0], "same")
    assert (jwt.made, jwt.cluster) == (NOW - 10 * 24 * HOUR, "same")


def test_a_secret_that_holds_another_key_differs() -> None:
    other = made(keys={"slurm.key": Answer(SeenKey("SHA256:other", NOW), 1), "JWT key": Answer(SeenKey("", None), 1)})
    slurm, jwt = other.keys
    assert (slurm.cluster, slurm.text) == ("differs", "the Secret holds SHA256:other")
    assert (jwt.cluster, jwt.text) == ("differs", "there is no Secret with jwt_hs256.key")


def test_the_fingerprint_of_a_secret_that_another_made_is_the_live_one() -> None:
    said = [dict(each) for each in resources()]
    keys = next(each for each in said if each["type"] == "slinky:slurm:AuthKeys")
    keys["outputs"] = {"slurm_key_fingerprint": "not known: the Secret was made outside this stack"}
    slurm = status(facts("", said), answers()).keys[0]
    assert (slurm.fingerprint, slurm.cluster) == (PRINTS[0], "unknown")


def test_the_last_up_with_who_and_what_came_after() -> None:
    last = made().last
    assert last is not None
    assert (last.result, last.ended, last.changes) == ("succeeded", NOW - 2 * HOUR + 200, {"same": 30, "update": 2})
    assert last.who == "CI GitHub; commit 012345678 with changes by Carol"
    assert (last.message, last.later) == ("more GPUs", "since then: refresh succeeded")
    assert "cipher" not in repr(last)


def test_a_backend_that_records_nobody_is_not_guessed() -> None:
    found = last_up([{"kind": "update", "result": "failed", "startTime": "x", "environment": {"exec.kind": "cli"}}])
    assert found is not None
    assert (found.who, found.started, found.result) == ("unknown: the backend records no user", None, "failed")
    assert last_up([{"kind": "destroy", "result": "succeeded"}]) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2027-01-15T08:00:00Z", NOW),
        ("2027-01-15T08:00:00.000Z", NOW),
        ("2027-01-15T08:00:00.123456789Z", NOW),
        ("2027-01-15T09:00:00.5+01:00", NOW),
        ("2027-01-15T08:00:00", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_times_as_pulumi_writes_them(text: object, said: int | None) -> None:
    assert moment(text) == said


def test_the_fence_stands_is_off_or_is_broken() -> None:
    found = facts("", fenced())
    assert status(known_facts(), answers()).guards["fence"] == Guarded("off")
    assert status(found, answers(guards={"fence": Answer((), 3)})).guards["fence"] == Guarded("stands")
    assert status(found, answers(guards={"fence": Answer(("it is gone",), 3)})).guards["fence"] == Guarded(
        "broken", ("it is gone",)
    )
    unasked = status(found, answers(guards={"fence": Answer(trouble="no right to look")}))
    assert (unasked.guards["fence"], unasked.unknown) == (Guarded("unknown"), ("fence: no right to look",))


# --- unknown is unknown ---

SILENT = f"{NOT_ASKED}slurmrestd doesn't answer"


def silent_slurm() -> dict[str, Any]:
    rest = {name: Answer(trouble=SILENT) for name in ("token", "served", "nodes", "jobs", "slurmdbd")}
    return {"slurmrestd": Answer(trouble="ping: no answer from slurmrestd"), **rest}


def test_without_slurmrestd_everything_of_slurm_is_unknown_and_the_cause_is_told_once() -> None:
    shown = made(**silent_slurm())
    states = {each.name: each.state for each in shown.endpoints}
    assert (states["Kubernetes API"], states["slurmrestd"], states["slurmctld"], states["slurmdbd"]) == (
        "up",
        "down",
        "unknown",
        "unknown",
    )
    assert shown.drains is None
    assert all(each.states is None for each in shown.groups)
    assert {each.release for each in shown.versions if each.daemon != "slurm-operator"} == {"unknown"}
    assert shown.unknown == ("slurmrestd: ping: no answer from slurmrestd",)


def test_a_refused_token_is_no_dead_slurmctld_and_no_known_node() -> None:
    pings = Answer(made_pings({"responding": False}, cluster=""), 5)
    refused = "diag: HTTP 511: the token was refused"
    rest = {name: Answer(trouble=SILENT) for name in ("nodes", "jobs", "slurmdbd")}
    shown = made(slurmrestd=pings, token=Answer(trouble=refused), **rest)
    slurmctld = next(each for each in shown.endpoints if each.name == "slurmctld")
    assert (slurmctld.state, slurmctld.text) == ("down", refused)
    assert shown.unknown == (f"slurmctld: {refused}",)


def test_of_two_slurmctlds_the_silent_one_is_named() -> None:
    pings = ({}, {"hostname": "ctl-2", "responding": False, "primary": False, "mode": "backup"})
    shown = made(slurmrestd=Answer(made_pings(*pings), 5))
    assert [(each.name, each.state) for each in shown.endpoints][2:4] == [
        ("slurmctld", "up"),
        ("slurmctld (backup)", "down"),
    ]


def test_jobs_that_could_not_be_asked_are_told() -> None:
    shown = made(jobs=Answer(trouble="jobs: HTTP 500"))
    assert shown.unknown == ("Slurm's jobs: jobs: HTTP 500",)
    assert {row.jobs for row in shown.drains or ()} == {()}


def test_slurmdbd_without_a_registered_slurmctld_is_told() -> None:
    shown = made(slurmdbd=Answer((cluster("atlas"),), 3))
    assert "no slurmctld of atlas is registered" in next(each.text for each in shown.endpoints if each.name == "slurmdbd")
    assert "doesn't know" in next(e.text for e in made(slurmdbd=Answer((), 3)).endpoints if e.name == "slurmdbd")


QUESTIONS = [each.name for each in fields(Seen) if each.name not in ("now", "workers", "keys", "writers", "guards")]


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_without_an_answer_is_told_with_its_reason(question: str) -> None:
    """Whatever wasn't answered is on the screen: nothing passes for fine by being left out."""
    if question == "users_slurmrestd":
        down = made(users_slurmrestd=Answer(trouble="the reason"))
        assert ("slurmrestd for users", "down") in [(each.name, each.state) for each in down.endpoints]
        return
    assert any("the reason" in each for each in made(**{question: Answer(trouble="the reason")}).unknown)


@pytest.mark.parametrize("part", ["workers", "keys"])
def test_a_nodeset_or_key_without_an_answer_is_told(part: str) -> None:
    name = "gpu" if part == "workers" else "slurm.key"
    whole = getattr(answers(), part)
    assert made(**{part: {**whole, name: Answer(trouble="the reason")}}).unknown == (
        f"{'NodeSet gpu' if part == 'workers' else 'slurm.key'}: the reason",
    )


def test_nodes_of_a_cluster_before_its_first_node() -> None:
    shown = made(nodes=Answer(NodesAnswer((), NOW, 0.0, 0.0), 1), jobs=Answer(trouble=SILENT))
    assert shown.drains == ()
    assert [each.states for each in shown.groups] == [
        {"not registered": 3},
        {"not registered": 3},
        {"not registered": 2},
    ]


def test_a_stranger_whose_feature_is_a_nodeset_of_ours_is_counted_there_only_if_dynamic() -> None:
    more = (*nodes(), worker("gpu-9"), node("gpu-x", features=("gpu",)))
    gpu, *_, others = made(nodes=Answer(NodesAnswer(more, NOW, 0.0, 0.0), 1)).groups
    assert sum((gpu.states or {}).values()) == 4
    assert sum((others.states or {}).values()) == 3


def of_a_store(raw: bytes, **more: Any) -> Key:
    """slurm.key of a stack whose keys an external store makes; its Secret has ``raw`` now."""
    salt = "00" * 16
    record = {"secret": "slurm-auth-slurm", "entry": "slurm.key", "salt": salt, "mark": external_keys.mark(b"old", salt)}
    stack = [each for each in resources() if each["type"] != "slinky:slurm:AuthKeys"]
    found = facts("prod", [*stack, {"type": EXTERNAL_KEY, "outputs": record}])
    place = next(each for each in found.keys if each.name == "slurm.key")
    secret = made_secret({"slurm.key": raw}, NOW - 30 * 24 * HOUR, NOW - 3 * 24 * HOUR)
    session = SimpleNamespace(kube=SimpleNamespace(secret=lambda *_: secret))
    seen = answers(keys={"slurm.key": Answer(_key(session, place), 1)}, **more)  # type: ignore[arg-type]
    return next(key for key in status(found, seen).keys if key.name == "slurm.key")


def test_a_key_of_a_store_is_known_again_with_the_age_of_its_entry() -> None:
    key = of_a_store(b"old")
    assert (key.cluster, key.text, key.made) == ("same", "", NOW - 3 * 24 * HOUR)


def test_a_key_that_changed_at_its_source_differs_and_daemons_have_the_old_one() -> None:
    key = of_a_store(b"new")
    assert key.cluster == "differs"
    assert "daemons have the one from before" in key.text


def test_a_key_older_than_keys_max_age_is_said_to_be() -> None:
    assert "older than keys.maxAge (2 d)" in of_a_store(b"old", configured=Answer(configured(maxAge="2d"), 1)).text
    assert of_a_store(b"old", configured=Answer(configured(maxAge="4d"), 1)).text == ""
