"""Pulumi as a rotation uses it: keys by standard input only, and one update that may touch nothing but keys."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from slinky_iac.cluster.pulumi_state import State
from slinky_iac.commands import cli
from slinky_iac.commands.keys import cli as key_lifecycle
from slinky_iac.commands.rotation.cluster import read
from slinky_iac.commands.rotation.engine import Engine, others_that_change
from slinky_iac.errors import KeyMaterialError, RotationError, StateError
from slinky_iac.keys.catalogue import JWT as JWT_KEY
from slinky_iac.keys.catalogue import SLURM
from slinky_iac.keys.raw import GENERATED_LENGTH, fingerprint
from slinky_iac.keys.raw import several_keys as jwks
from tests.raw_keys import text_key

KEY, NEXT, JWT = (text_key(word) for word in ("key", "next", "jwt"))
HEAD = "urn:pulumi:prod::slinky-iac::"
KEYS = "slinky:slurm:HybridCluster$slinky:slurm:AuthKeys$kubernetes:core/v1:Secret::lab-keys-jwt-key-secret"
CLIENT_KEY = "slinky:slurm:HybridCluster$slinky:slurm:Client$kubernetes:core/v1:Secret::lab-client-nb-key"
CONTROLLER = "slinky:slurm:HybridCluster$kubernetes:slinky.slurm.net/v1beta1:Controller::slurm-slurm-controller"
NODESET = "slinky:slurm:HybridCluster$slinky:slurm:NodeSet$kubernetes:slinky.slurm.net/v1beta1:NodeSet::gpu"
DATABASE = "slinky:slurm:HybridCluster$slinky:slurm:Accounting$kubernetes:core/v1:Secret::lab-accounting-database"


class Pulumi:
    """Answers by the command's first words, and remembers what it was given."""

    def __init__(self, **answers: str) -> None:
        self.answers = answers
        self.commands: list[list[str]] = []
        self.inputs: list[str] = []
        self.fails: tuple[str, ...] = ()

    def __call__(self, command: Sequence[str], **more: Any) -> subprocess.CompletedProcess[str]:
        self.commands.append(list(command))
        self.inputs.append(more["input"])
        bad = command[1] in self.fails
        return subprocess.CompletedProcess(command, 1 if bad else 0, self.answers.get(command[1], ""), "it says why")


def controller(**more: Any) -> dict[str, Any]:
    """A Controller's inputs, as a preview has them."""
    found = {"metadata": {"name": "slurm", "annotations": {"slinky-iac/jwt-key": "old"}}, "spec": {"clusterName": "lab"}}
    return {"inputs": found | more}


NOTED = controller(metadata={"name": "slurm", "annotations": {"slinky-iac/jwt-key": "new"}})


def preview(*steps: tuple[str, str], new: dict[str, Any] = NOTED) -> str:
    states = {"oldState": controller(), "newState": new}
    return json.dumps({"steps": [{"op": op, "urn": HEAD + urn, **states} for op, urn in steps]})


def config(**secrets: bytes) -> str:
    values: dict[str, Any] = {
        "slinky-iac:cluster": {"value": '{"name": "lab"}', "secret": False},
        "slinky-iac:keys": {"value": '{"source": "imported"}', "secret": False},
        "other:thing": {"value": "not ours", "secret": False},
    }
    for name, raw in secrets.items():
        values[f"slinky-iac:{name}"] = {"value": base64.b64encode(raw).decode(), "secret": True}
    return json.dumps(values)


def test_a_key_goes_by_standard_input_and_never_as_an_argument() -> None:
    pulumi = Pulumi()
    Engine("prod", pulumi).set_key("jwtKeyNext", KEY)
    assert pulumi.commands == [
        ["pulumi", "config", "set", "--secret", "slinky-iac:jwtKeyNext", "--non-interactive", "--stack", "prod"]
    ]
    assert base64.b64decode(pulumi.inputs[0]) == KEY


def test_an_update_of_keys_alone_is_applied() -> None:
    steps = preview(("replace", KEYS), ("update", CONTROLLER), ("same", NODESET), ("read", DATABASE))
    assert others_that_change(steps) == []
    assert others_that_change(preview(("update", CLIENT_KEY))) == []


@pytest.mark.parametrize("other", [NODESET, DATABASE])
@pytest.mark.parametrize("op", ["update", "create", "delete", "replace"])
def test_an_update_that_would_touch_more_is_refused(other: str, op: str) -> None:
    assert others_that_change(preview(("replace", KEYS), (op, other))) == [other.rsplit("::", 1)[1]]


@pytest.mark.parametrize(
    "new",
    [
        controller(spec={"clusterName": "lab", "slurmctld": {"image": "another"}}),
        controller(spec=None),
        controller(metadata={"name": "other", "annotations": {"slinky-iac/jwt-key": "new"}}),
        controller(metadata={"name": "slurm", "annotations": {"slinky-iac/jwt-key": "new", "another": "too"}}),
    ],
)
def test_a_controller_that_changes_in_more_than_its_note_of_the_key_is_no_business_of_a_rotation(
    new: dict[str, Any],
) -> None:
    assert others_that_change(preview(("update", CONTROLLER), new=new)) == ["slurm-slurm-controller"]


@pytest.mark.parametrize("op", ["create", "delete", "replace", "create-replacement", "delete-replaced"])
def test_a_controller_that_goes_or_comes_is_no_business_of_a_rotation(op: str) -> None:
    assert others_that_change(preview((op, CONTROLLER))) == ["slurm-slurm-controller"]


def test_a_note_that_comes_for_the_first_time_is_of_keys() -> None:
    before = {
        "op": "update",
        "urn": HEAD + CONTROLLER,
        "oldState": controller(metadata={"name": "slurm"}),
        "newState": NOTED,
    }
    assert others_that_change(json.dumps({"steps": [before]})) == []


def test_nothing_is_applied_where_more_than_keys_would_change() -> None:
    state: list[dict[str, Any]] = []
    pulumi = Pulumi(preview=preview(("update", NODESET)))
    with pytest.raises(RotationError, match="would change more than keys: gpu"):
        Engine(None, pulumi, read_state=lambda _stack: State.read(state)).update_keys(lambda _line: None)
    assert [command[1] for command in pulumi.commands] == ["preview"]


def test_the_protection_is_lifted_for_key_secrets_only() -> None:
    state = [
        {"type": "kubernetes:core/v1:Secret", "urn": HEAD + KEYS, "protect": True},
        {"type": "kubernetes:core/v1:Secret", "urn": HEAD + DATABASE, "protect": True},
        {"type": "kubernetes:core/v1:Secret", "urn": HEAD + KEYS.replace("jwt", "slurm")},
    ]
    pulumi = Pulumi(preview=preview(("replace", KEYS)))
    Engine(None, pulumi, read_state=lambda _stack: State.read(state)).update_keys(lambda _line: None)
    assert [c[1:4] for c in pulumi.commands if c[1] == "state"] == [["state", "unprotect", HEAD + KEYS]]
    assert [c[1] for c in pulumi.commands] == ["state", "preview", "up"]


def test_it_is_looked_at_once_a_process_what_else_would_change() -> None:
    pulumi = Pulumi(preview=preview(("replace", KEYS)))
    engine = Engine(None, pulumi, read_state=lambda _stack: State())
    for _ in range(2):
        engine.update_keys(lambda _line: None)
    assert [c[1] for c in pulumi.commands] == ["preview", "up", "up"]
    begun = Pulumi()
    engine = Engine(None, begun, read_state=lambda _stack: State())
    engine.settled()
    engine.update_keys(lambda _line: None)
    assert [c[1] for c in begun.commands] == ["preview", "up"]


def test_every_update_of_a_rotation_has_the_policies_that_were_named() -> None:
    pulumi = Pulumi(preview=preview())
    engine = Engine(None, pulumi, policies=("--policy-pack", "policies"))
    engine.update_keys(lambda _line: None, replaces=False)
    engine.up()
    assert [c[1] for c in pulumi.commands] == ["preview", "up", "up"]
    assert all(" ".join(c).count("--policy-pack policies") == 1 for c in pulumi.commands)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--policy-pack", "gone"], "gone/PulumiPolicy.yaml isn't there"),
        (["--policy-pack-config", "site.json"], "isn't there|without --policy-pack"),
        (["--policy-pack", "", "--policy-pack-config", "pyproject.toml"], "without --policy-pack applies nothing"),
    ],
)
def test_a_pack_that_is_not_there_begins_no_rotation(words: list[str], told: str) -> None:
    arguments = cli.parser().parse_args(["keys", "rotate", "tokens", *words])
    with pytest.raises(RotationError, match=told):
        key_lifecycle.run(arguments)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"steps": [{"op": "update"}]}'])
def test_what_is_no_preview_is_no_leave_to_update(text: str) -> None:
    with pytest.raises(StateError, match="nothing was updated"):
        others_that_change(text)


def test_a_stack_that_is_not_as_its_configuration_says_begins_no_rotation() -> None:
    pulumi = Pulumi()
    pulumi.fails = ("preview",)
    with pytest.raises(RotationError, match="Run `pulumi up` first"):
        Engine(None, pulumi).settled()


def test_a_fault_of_pulumi_is_told_without_what_it_was_given() -> None:
    pulumi = Pulumi()
    pulumi.fails = ("config",)
    with pytest.raises(StateError) as caught:
        Engine(None, pulumi).set_key("jwtKey", KEY)
    assert "it says why" in str(caught.value)
    assert base64.b64encode(KEY).decode()[:12] not in str(caught.value)


def test_keys_are_read_also_where_a_rotation_was_cut_between_two_settings() -> None:
    """As a program may not run it: slurmKeyNext and slurmKeyPrevious at once."""
    pulumi = Pulumi(config=config(slurmKey=KEY, slurmKeyNext=NEXT, slurmKeyPrevious=KEY, jwtKey=JWT))
    found = read(Engine(None, pulumi))
    assert found.keys.fingerprint("slurmKeyNext") == fingerprint(NEXT)
    assert found.keys.fingerprint("jwtKeyNext") is None
    assert found.keys.bundle(SLURM) == jwks(KEY, NEXT)
    assert repr(KEY)[2:-1] not in repr(found)


@pytest.mark.parametrize("text", ["", "[]", '{"slinky-iac:cluster": 7}'])
def test_what_is_no_configuration_is_refused(text: str) -> None:
    with pytest.raises(StateError, match="something else than this project's configuration"):
        read(Engine(None, Pulumi(config=text)))


def test_a_generated_key_is_text_of_the_right_length_that_nothing_changes_unseen() -> None:
    one, other = SLURM.form.generate(), JWT_KEY.form.generate()
    assert len(one) == len(other) == GENERATED_LENGTH
    assert one.isalnum()
    assert one != other


def test_a_munge_cluster_has_none_of_these_keys_and_gets_none() -> None:
    """A plan or an import of slurm.key there would lead its admin to make one."""
    texts = {"cluster": '{"name": "lab"}', "keys": '{"auth": "auth/munge"}'}
    munge = {f"slinky-iac:{name}": {"value": text, "secret": False} for name, text in texts.items()}
    with pytest.raises(KeyMaterialError, match=r"auth/munge.*slinky docs munge.*Nothing was changed"):
        read(Engine("prod", run=Pulumi(config=json.dumps(munge))))
