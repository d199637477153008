"""Where a key can't be replaced under jobs, the plan has every step of the stop with its commands, and where it stands."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest

from slinky_iac.cluster import pulumi_state
from slinky_iac.cluster.blueprint import blueprint as read_blueprint
from slinky_iac.cluster.blueprint import standing
from slinky_iac.commands.keys import cli
from slinky_iac.commands.rotation.host_scripts import hosts_of
from slinky_iac.commands.rotation.model import State, Turn
from slinky_iac.commands.rotation.planned_stop import StopFacts, plan_of, reason, split_hosts
from slinky_iac.config.reading.load import load
from slinky_iac.keys.catalogue import JWT, SLURM, Role
from tests.stacks import merged, minimal
from tests.unit.keys.test_report import arguments
from tests.unit.rotation.world import CONFIG
from tests.unit.status.made import blueprint

HEAD = "urn:pulumi:prod::slinky-iac::slinky:slurm:HybridCluster$"
GENERATOR = f"{HEAD}slinky:slurm:AuthKeys$random:index/randomPassword:RandomPassword::lab-keys-slurm-key"
SECRET = f"{HEAD}slinky:slurm:AuthKeys$kubernetes:core/v1:Secret::lab-keys-slurm-key-secret"
INSIDE = minimal(keys={"source": "imported"})
EXISTING = {
    "keys": {"source": "existing", "jwks": False, "slurmKeyFrom": {"secret": "ours"}, "jwtKeyFrom": {"secret": "theirs"}}
}
NO_JWKS = merged(CONFIG, {"keys": {"jwks": False}})
SLURMDBD_OUTSIDE = merged(NO_JWKS, {"controller": None})


def resources() -> list[dict[str, Any]]:
    """The state of a stack, as far as it has to do with keys."""
    custom = "kubernetes:slinky.slurm.net/v1beta1"
    kinds = {"LoginSet": "LoginSet", "NodeSet": "NodeSet", "RestApi": "RestApi", "Controller": "Controller"}
    keys = [
        ("random:index/randomPassword:RandomPassword", GENERATOR),
        ("kubernetes:core/v1:Secret", SECRET),
        ("random:index/randomPassword:RandomPassword", GENERATOR.replace("slurm-key", "jwt-key")),
        ("kubernetes:core/v1:Secret", SECRET.replace("slurm-key", "jwt-key")),
        ("kubernetes:core/v1:Secret", SECRET.replace("slurm-key", "slurm-jwks")),
        ("kubernetes:core/v1:Secret", f"{HEAD}slinky:slurm:Accounting$kubernetes:core/v1:Secret::lab-x-slurm-key-secret"),
    ]
    made = [
        (f"{custom}:{kind}", f"{HEAD}slinky:slurm:{name}${custom}:{kind}::slurm-slurm-{kind.lower()}")
        for kind, name in kinds.items()
    ]
    found = [{"type": kind, "urn": urn, "protect": "AuthKeys" in urn} for kind, urn in (*made, *reversed(keys))]
    daemons = [[kind, urn.rpartition("::")[2]] for kind, urn in reversed(made)]
    return [blueprint("lab", daemons=daemons), *found]


STATE = pulumi_state.State.read(resources())
STACK = read_blueprint(STATE)


def facts(data: dict[str, Any], **more: Any) -> StopFacts:
    config = load(data)
    known: dict[str, Any] = {
        "holders": STACK.holders(STATE, SLURM.label)[0 if config.keys.source == "generated" else 1 :],
        "daemons": standing(STATE, STACK.daemons),
        "current": "old" if config.keys.source == "imported" else None,
        "hosts": hosts_of(config, ["ctl-2"] if config.controller.external else []),
    }
    return StopFacts(config, **{**known, **more})


def test_the_keys_holders_are_told_from_all_other_resources() -> None:
    assert [(each.urn, each.protect) for each in STACK.holders(STATE, SLURM.label)] == [(GENERATOR, True), (SECRET, True)]
    assert [each.urn.rsplit("::", 1)[1] for each in STACK.holders(STATE, JWT.label)] == [
        "lab-keys-jwt-key",
        "lab-keys-jwt-key-secret",
    ]
    assert [each.urn.rsplit("-", 1)[1] for each in standing(STATE, STACK.daemons)] == [
        "controller",
        "restapi",
        "nodeset",
        "loginset",
    ]


@pytest.mark.parametrize(
    ("data", "steps"),
    [
        (minimal(), ["remove", "up"]),
        (INSIDE, ["make", "remove", "key", "up"]),
        (NO_JWKS, ["make", "remove", "key", "daemons", "up"]),
        (SLURMDBD_OUTSIDE, ["make", "remove", "key", "daemons", "up", "members"]),
        (merged(CONFIG, EXISTING), ["remove", "key", "daemons", "up"]),
    ],
)
def test_the_steps_of_a_stop_are_in_their_order(data: dict[str, Any], steps: list[str]) -> None:
    plan = plan_of(SLURM, facts(data))
    assert [step.name for step in plan.steps] == steps
    assert (plan.under_way, plan.stop) == (False, True)
    assert State.DONE not in {step.state for step in plan.steps}
    assert plan.notes == (reason(load(data), SLURM),)


def test_every_step_but_somebody_elses_has_its_commands() -> None:
    for data in (minimal(), INSIDE, NO_JWKS, SLURMDBD_OUTSIDE, merged(CONFIG, EXISTING)):
        for step in plan_of(SLURM, facts(data)).steps:
            assert step.commands or step.turn is Turn.PERSON, step.name


def test_the_operator_its_crds_and_the_namespace_are_never_removed() -> None:
    """Other stacks may live on that operator, and the namespace has the volume with the queue."""
    for data in (minimal(), INSIDE, NO_JWKS, merged(CONFIG, EXISTING)):
        lines = [line for step in plan_of(SLURM, facts(data)).steps for line in step.commands]
        destroys = [shlex.split(line) for line in lines if "pulumi destroy" in line]
        assert len(destroys) == 1
        assert "--target-dependents" in destroys[0]
        assert not [line for line in lines if "--all" in line]


def test_what_is_removed_is_the_first_that_has_the_key() -> None:
    generated = plan_of(SLURM, facts(minimal())).steps[0].commands
    assert generated[0] == f"pulumi state unprotect '{GENERATOR}' '{SECRET}'"
    assert generated[1] == f"SLINKY_IAC_KEEP_QUEUE=slurm/slurm pulumi destroy --target '{GENERATOR}' --target-dependents"
    assert generated[2].startswith("kubectl wait --namespace slurm --for=delete pod --selector ")
    existing = plan_of(SLURM, facts(merged(CONFIG, EXISTING), holders=())).steps[0].commands
    assert "Controller::" in existing[0]
    assert "unprotect" not in existing[0]


def test_a_stop_that_was_begun_by_a_command_is_ended_by_hand_and_the_other_way_round() -> None:
    """No printed line needs a file that only an earlier printed line has made."""
    steps = {step.name: step.commands for step in plan_of(SLURM, facts(INSIDE)).steps}
    assert steps["make"][-1] == "rm slurm.key.new"
    assert steps["key"] == ("pulumi config get slinky-iac:slurmKeyNext | pulumi config set --secret slinky-iac:slurmKey",)
    assert not [line for name in ("remove", "key", "up") for line in steps[name] if "key.new" in line]


def test_the_hosts_commands_are_for_the_folder_that_was_named() -> None:
    for folder, words in (("/etc/slurm", ""), ("/opt/slurm", " --folder /opt/slurm")):
        plan = plan_of(SLURM, facts(NO_JWKS, folder=folder))
        lines = [line for step in plan.steps for line in step.commands if "--script" in line]
        assert lines
        assert {line.split(" --script")[0] for line in lines} == {f"slinky keys rotate slurm{words}"}


def test_commands_name_the_stack_where_it_was_named() -> None:
    for step in plan_of(SLURM, facts(NO_JWKS, stack="prod")).steps:
        for line in step.commands:
            if "pulumi " in line or "rotate" in line:
                assert "--stack prod" in line


@pytest.mark.parametrize(
    ("more", "due"),
    [
        ({"blank": True, "holders": (), "daemons": ()}, None),
        ({}, None),
        ({"next_key": "new"}, "remove"),
        ({"next_key": "new", "daemons": ()}, "remove"),
        ({"next_key": "new", "holders": ()}, "remove"),
        ({"next_key": "new", "holders": (), "daemons": ()}, "key"),
        ({"next_key": "new", "current": "new", "holders": (), "daemons": ()}, "daemons"),
        ({"next_key": "new", "current": "new", "holders": (), "daemons": (), "confirmed": "daemons"}, "up"),
        ({"holders": (), "daemons": ()}, "up"),
    ],
)
def test_where_a_stop_stands_is_read_from_state_and_secrets(more: dict[str, Any], due: str | None) -> None:
    plan = plan_of(SLURM, facts(NO_JWKS, **more))
    assert plan.under_way is (due is not None)
    if due is not None:
        assert plan.due is not None
        assert plan.due.name == due


def test_a_generated_key_without_its_protection_is_being_removed() -> None:
    lifted = tuple(replace(each, protect=False) for each in STACK.holders(STATE, SLURM.label))
    plan = plan_of(SLURM, facts(minimal(), holders=lifted))
    assert plan.under_way
    assert not plan_of(SLURM, facts(minimal(keys={"protect": False}), holders=lifted)).under_way


def test_slurmctld_has_the_key_before_those_who_fetch_their_configuration_from_it() -> None:
    before, after = split_hosts(SLURM, facts(NO_JWKS))
    assert [host.name for host in before] == ["dbd", "ctl", "ctl-2", "metal-1", "login-1"]
    assert after == ()
    before, after = split_hosts(SLURM, facts(SLURMDBD_OUTSIDE))
    assert ([host.name for host in before], [host.name for host in after]) == (["dbd"], ["metal-1", "login-1"])
    before, after = split_hosts(JWT, facts(NO_JWKS))
    assert ([host.name for host in before], after) == (["dbd", "ctl", "ctl-2"], ())


def test_a_host_of_two_halves_has_two_turns() -> None:
    data = merged(SLURMDBD_OUTSIDE, {"external": {"loginHosts": [{"name": "dbd"}]}})
    before, after = split_hosts(SLURM, facts(data))
    assert [host.roles for host in before] == [(Role.SLURMDBD,)]
    assert {host.name: host.roles for host in after}["dbd"] == (Role.LOGIN,)


def test_a_queue_that_would_be_lost_is_told() -> None:
    lost = minimal(controller={"persistence": {"enabled": False}})
    assert "until the queue is empty" in plan_of(JWT, facts(lost)).steps[0].why
    assert "KEEP_QUEUE" not in " ".join(plan_of(JWT, facts(lost)).steps[0].commands)
    assert "until the queue is empty" not in plan_of(JWT, facts(minimal())).steps[0].why


def test_the_words_have_commands_whole_and_all_else_fits_a_terminal() -> None:
    for more, ending in (({}, "by the commands above"), ({"next_key": "new"}, "from [>] on")):
        plan = plan_of(SLURM, facts(INSIDE, **more))
        text = cli._words(plan, arguments("slurm", "--plan"))
        for step in plan.steps:
            for line in step.commands:
                assert f"         {line}" in text.splitlines()
        assert ending in text.splitlines()[-1]
        others = [line for line in text.splitlines()[:-1] if line.strip() not in {c for s in plan.steps for c in s.commands}]
        assert max(len(line) for line in others) <= 100


@pytest.mark.parametrize("data", [INSIDE, minimal(**EXISTING), NO_JWKS])
def test_why_there_is_a_stop_is_said_before_its_steps_and_without_the_command_that_says_it(data: dict[str, Any]) -> None:
    plan = plan_of(SLURM, facts(data))
    words = " ".join(cli._words(plan, arguments("slurm", "--plan")).split())
    assert words.index("a planned stop") < words.index("1. ")
    assert "`--plan`" not in words[: words.index("1. ")]
