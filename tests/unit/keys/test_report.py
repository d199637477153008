"""What is verified: a place that differs, or that gave no answer, is never shown as fine."""

from __future__ import annotations

import argparse
import base64
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands import cli as top
from slinky_iac.commands import output
from slinky_iac.commands.keys import cli
from slinky_iac.commands.keys.report import age
from slinky_iac.commands.output import PARTLY_UNKNOWN
from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.rotation.host_scripts import Via, hosts_of
from slinky_iac.commands.rotation.jwt import jwt_agreements
from slinky_iac.commands.rotation.jwt import plan_of as jwt_plan
from slinky_iac.commands.rotation.model import Host
from slinky_iac.commands.rotation.slurm import plan_of as slurm_plan
from slinky_iac.commands.rotation.slurm import slurm_agreements
from slinky_iac.errors import KubeUnreachable, RotationError
from slinky_iac.keys.catalogue import Role
from tests.stacks import form
from tests.unit.rotation.test_plans import BOTH, CALM, NEW, OLD, REST, UNASKED
from tests.unit.rotation.world import World


def verdicts(rows: object) -> dict[str, str]:
    return {row.what: row.verdict for row in rows}  # type: ignore[attr-defined]


def test_a_jwt_key_at_rest_agrees_everywhere() -> None:
    assert set(verdicts(jwt_agreements(REST)).values()) == {"agrees"}


@pytest.mark.parametrize(
    ("facts", "what", "verdict"),
    [
        (replace(REST, held=(NEW,)), "JWT key: Secret", "differs"),
        (replace(REST, held=()), "JWT key: Secret", "unknown"),
        (replace(REST, slurmctld={OLD: False}), "JWT key: slurmctld", "differs"),
        (replace(REST, slurmctld={OLD: None}), "JWT key: slurmctld", "unknown"),
        (replace(REST, slurmdbd={}), "JWT key: slurmdbd", "unknown"),
        (BOTH, "JWT key: rotation", "differs"),
    ],
)
def test_a_jwt_key_that_differs_somewhere_is_told(facts: object, what: str, verdict: str) -> None:
    assert verdicts(jwt_agreements(facts))[what] == verdict  # type: ignore[arg-type]


def test_a_cluster_without_slurmdbd_has_nothing_to_verify_there() -> None:
    assert "JWT key: slurmdbd" not in verdicts(jwt_agreements(replace(REST, slurmdbd=None)))


def test_slurm_key_at_rest_agrees_everywhere() -> None:
    rows = verdicts(slurm_agreements(CALM, bundled=True, silent=[]))
    assert set(rows.values()) == {"agrees"}
    assert {"slurm.jwks: pod gpu-0", "slurm.key: host metal-1", "slurm.key: nodes"} <= set(rows)


@pytest.mark.parametrize(
    ("facts", "silent", "what", "verdict"),
    [
        (replace(CALM, key_held=NEW), [], "slurm.key: Secret", "differs"),
        (replace(CALM, key_held=None), [], "slurm.key: Secret", "unknown"),
        (replace(CALM, held=None), [], "slurm.jwks: Secret", "differs"),
        (replace(CALM, pods={"gpu-0": None}), [], "slurm.jwks: pod gpu-0", "unknown"),
        (replace(CALM, pods={"gpu-0": "older"}), [], "slurm.jwks: pod gpu-0", "differs"),
        (replace(CALM, confirmed={"ctl": None}), [], "slurm.key: host ctl", "unknown"),
        (replace(CALM, confirmed={"ctl": "older"}), [], "slurm.key: host ctl", "differs"),
        (CALM, ["metal-1"], "slurm.key: nodes", "differs"),
        (CALM, None, "slurm.key: nodes", "unknown"),
        (replace(CALM, previous=OLD), [], "slurm.key: rotation", "differs"),
    ],
)
def test_a_slurm_key_that_differs_somewhere_is_told(facts: object, silent: object, what: str, verdict: str) -> None:
    assert verdicts(slurm_agreements(facts, bundled=True, silent=silent))[what] == verdict  # type: ignore[arg-type]


def test_of_a_host_of_which_nothing_is_known_nothing_is_said() -> None:
    rows = slurm_agreements(replace(CALM, confirmed={"ctl": None, "dbd": "older"}), bundled=True, silent=[])
    texts = {row.what: row.text for row in rows}
    assert "isn't known" in texts["slurm.key: host ctl"]
    assert texts["slurm.key: host dbd"] == "has another"


def test_hosts_are_changed_with_slurmctlds_at_the_end() -> None:
    hosts = hosts_of(form("controller-outside"), ["ctl-2"])
    assert hosts[-1].roles[-1] is Role.SLURMCTLD
    assert [max(list(Role).index(role) for role in host.roles) for host in hosts] == sorted(
        max(list(Role).index(role) for role in host.roles) for host in hosts
    )
    assert "ctl-2" in {host.name for host in hosts}


def test_a_way_to_the_hosts_names_each() -> None:
    host = Host("metal-1", (Role.SLURMD,))
    assert Via("ssh -o 'User root' {host} sh -s").command(host) == ["ssh", "-o", "User root", "metal-1", "sh", "-s"]
    with pytest.raises(ValueError, match="every host would get every script"):
        Via("ssh root@ctl sh -s").command(host)


@pytest.mark.parametrize("shell", ["bash -v -s {host}", "python3 - {host}", "sh -c 'cat >&2; exit 1' {host}"])
def test_a_shell_that_quotes_what_it_reads_shows_no_key(shell: str, tmp_path: Path) -> None:
    """Such as one that isn't POSIX's: root's own on a host may be any."""
    host, key = Host("metal-1", (Role.SLURMD,)), secrets.token_bytes(200)
    script = host_scripts.change(host, [host_scripts.File("slurm.key", key)], folder=str(tmp_path / "none"))
    with pytest.raises(RotationError) as caught:
        Via(shell).script(host, script)
    message, encoded = str(caught.value), base64.b64encode(key).decode()
    assert [encoded[at : at + 8] for at in range(len(encoded) - 8) if encoded[at : at + 8] in message] == []
    assert "ended with" in message


@pytest.mark.parametrize(("seconds", "text"), [(None, "-"), (5, "5s"), (120, "2m"), (7200, "2h"), (86400 * 12, "12d")])
def test_ages_are_in_the_largest_unit_that_fits(seconds: int | None, text: str) -> None:
    assert age(seconds) == text


def arguments(*words: str) -> argparse.Namespace:
    return top.parser().parse_args(["keys", "rotate", *words])


def test_a_plan_shows_all_steps_and_the_hosts_commands_of_the_one_that_is_due() -> None:
    text = cli._words(jwt_plan(BOTH), arguments("jwt", "--stack", "prod"))
    assert [line[:3] for line in text.splitlines() if line[:1] == "["] == ["[x]", "[x]", "[>]", "[ ]"]
    assert "keys rotate jwt --stack prod --script dbd | ssh root@dbd sh -s" in text
    assert text.index("--script dbd") < text.index("--script ctl")


def test_the_hosts_commands_are_for_the_folder_that_was_named() -> None:
    text = cli._words(jwt_plan(BOTH), arguments("jwt", "--folder", "/opt/my slurm"))
    assert "keys rotate jwt --folder '/opt/my slurm' --script dbd | ssh root@dbd sh -s" in text


def test_a_plan_fits_a_terminal_but_for_commands_which_are_copied_whole() -> None:
    for plan in (jwt_plan(BOTH), slurm_plan(replace(CALM, next_key=NEW, confirmed=UNASKED))):
        lines = cli._words(plan, arguments(plan.key.name)).splitlines()
        assert max(len(line) for line in lines[:-1] if "--script" not in line) <= 100


def test_a_plan_at_rest_has_no_mark_and_says_how_to_begin() -> None:
    text = cli._words(slurm_plan(replace(CALM, confirmed=UNASKED)), arguments("slurm"))
    assert "[x]" not in text
    assert "--start` begins one" in text


def test_a_plan_for_machines_has_a_number_for_its_shape(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_result(arguments("jwt", "--json"), {"rotation": cli._plain(jwt_plan(BOTH), arguments("jwt"))}, "")
    shown = json.loads(capsys.readouterr().out)
    assert shown["schema"] == 1
    assert [step["state"] for step in shown["rotation"]["steps"]] == ["done", "done", "now", "later"]
    assert shown["rotation"]["steps"][2]["hosts"][0] == {"name": "dbd", "roles": ["slurmdbd"]}
    commands = [step["commands"] for step in shown["rotation"]["steps"]]
    assert commands[2][0] == "slinky keys rotate jwt --script dbd | ssh root@dbd sh -s"
    assert [bool(each) for each in commands] == [False, False, True, False]


def test_a_script_with_a_key_never_goes_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert top.main(["keys", "rotate", "jwt", "--script", "ctl"]) == 1


def shown(world: World, *arguments: str, **ports: Any) -> int:
    context = replace(world.context(), **ports)
    return cli.run(top.parser().parse_args(["keys", "show", *arguments]), lambda *_: context)


@contextmanager
def no_kubernetes(*_: object) -> Iterator[Any]:
    raise KubeUnreachable("no kubeconfig: tried ~/.kube/config")
    yield


def test_keys_are_shown_before_the_first_update_without_kubernetes(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(World(), connect=no_kubernetes) == PARTLY_UNKNOWN
    said = capsys.readouterr().out
    assert said.count("configuration") == 2
    assert "The keys in Kubernetes are unknown: no kubeconfig: tried ~/.kube/config" in said
    assert shown(World(), "--json", connect=no_kubernetes) == PARTLY_UNKNOWN
    assert json.loads(capsys.readouterr().out)["unknown"] == ["no kubeconfig: tried ~/.kube/config"]


def test_no_secret_yet_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.secrets, world.set = {}, {}
    assert shown(world) == 0
    assert "No Secret of this stack holds a key yet" in capsys.readouterr().out
