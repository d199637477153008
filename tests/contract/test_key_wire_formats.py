"""Names and texts of keys and rotations in users' configuration, state, Secrets and hosts, pinned: by them alone a rotation
that was begun by earlier code goes on."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from slinky_iac import names
from slinky_iac.commands.output import FOUND, WAITS
from slinky_iac.commands.rotation import host_scripts, jwt, model, planned_stop, slurm
from slinky_iac.commands.rotation.model import Host, State, Turn
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import SECRET_KEYS
from slinky_iac.keys.catalogue import JWT, SLURM, Role
from slinky_iac.parts.munge.settings import MUNGE
from slinky_iac.parts.tokens import rotation as tokens
from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.slurmrest.auth import held
from tests.clusters import recorded
from tests.program import Registered, Secret
from tests.stacks import outside

CONFIG_NAMES = ("slurmKey", "jwtKey", "databasePassword", "mungeKey")
OF_ROTATIONS = ("slurmKeyNext", "slurmKeyPrevious", "jwtKeyNext")
OF_TOKENS = ("tokenKey", "tokenKeyNext", "tokenKeyPrevious")


def test_the_secret_configuration_values_have_these_names_in_this_order() -> None:
    assert (*CONFIG_NAMES, *OF_ROTATIONS, *OF_TOKENS, "sssdConf") == SECRET_KEYS


def test_names_of_secrets_entries_files_and_annotations() -> None:
    assert [names.slurm_key_secret("x"), names.jwt_key_secret("x"), SLURM.bundle_at("x").name] == [
        "x-auth-slurm",
        "x-auth-jwths256",
        "x-slurm-jwks",
    ]
    assert [TOKENS.secret("x"), TOKENS.bundle_at("x").name, MUNGE.secret("x")] == [
        "x-token-key",
        "x-token-jwks",
        "x-auth-munge",
    ]
    config = load(outside())
    assert (config.secret_of(SLURM).entry, config.secret_of(JWT).entry) == ("slurm.key", "jwt_hs256.key")
    assert (TOKENS.file, TOKENS.bundle, SLURM.bundle) == ("token.pem", "jwks.json", "slurm.jwks")
    assert (SLURM.annotation, names.ANNOTATION_JWT_KEY) == ("slinky-iac/slurm-jwks", "slinky-iac/jwt-key")
    assert (TOKENS.annotation, SLURM.bundle_path) == ("slinky-iac/token-keys", "/etc/slurm-jwks/slurm.jwks")
    assert (TOKENS.document, TOKENS.output) == ("tokenSet", "tokenKeySet")


class Kube:
    """Says which entries it was asked for."""

    def secret_entries(self, *asked: str) -> list[bytes]:
        return [each.encode() for each in asked]


def test_gates_of_any_release_find_the_next_jwt_key_beside_the_one_in_use() -> None:
    entries = held(Kube(), "slurm", "slurm-auth-jwths256", "jwt_hs256.key", "hs256")  # type: ignore[arg-type]
    assert entries[2:] == [b"jwt_hs256.key", b"jwt_hs256.key.next"]


def objects(found: list[Registered]) -> dict[str, set[str]]:
    """Entries of the objects that hold keys, by logical name."""

    def plain(value: Any) -> Any:
        return value.value if isinstance(value, Secret) else value

    return {each.name: set(plain(each.inputs.get("data") or {})) for each in found if "-keys-" in each.name}


def test_logical_names_and_entries_of_the_keys_objects() -> None:
    """A planned stop finds by them what holds the key, and `status` where it is."""
    stack = recorded("dev", keys={"source": "imported", "tokens": "rs256", "jwks": True})
    found = objects([*stack.of("kubernetes:core/v1:Secret"), *stack.of("kubernetes:core/v1:ConfigMap")])
    (prefix,) = {name.partition("-keys-")[0] for name in found}
    assert found == {
        f"{prefix}-keys-slurm-key-secret": {"slurm.key"},
        f"{prefix}-keys-jwt-key-secret": {"jwt_hs256.key"},
        f"{prefix}-keys-slurm-jwks-secret": {"slurm.jwks"},
        f"{prefix}-keys-token-key-secret": {"token.pem"},
        f"{prefix}-keys-token-jwks": {"jwks.json"},
    }


def test_logical_names_of_generated_and_of_external_keys() -> None:
    made = recorded("all-in-kubernetes").of("random:index/randomPassword:RandomPassword")
    assert sorted(each.name.partition("-keys-")[2] for each in made) == ["jwt-key", "slurm-key"]
    store = {"source": "external", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}}
    kept = recorded("dev", keys=store, cluster={"createNamespace": False}).of("pulumi-python:dynamic/slurm:ExternalKey")
    of_state = {each.name.partition("-keys-")[2]: each.inputs["key"] for each in kept}
    assert of_state == {"slurm-key-external": "slurm", "jwt-key-external": "jwt"}


def test_steps_turns_and_exit_codes_of_keys_rotate() -> None:
    """`--confirm STEP` and the JSON of `--plan` name them."""
    assert model.START == "make"
    assert (jwt.CARRY, jwt.HOSTS, jwt.ADOPT) == ("carry", "hosts", "adopt")
    of_slurm = (slurm.LEARN_PODS, slurm.LEARN_HOSTS, slurm.CHANGE_PODS, slurm.CHANGE_HOSTS, slurm.FORGET_PODS)
    assert (*of_slurm, slurm.FORGET_HOSTS) == (
        "learn-pods",
        "learn-hosts",
        "change-pods",
        "change-hosts",
        "forget-pods",
        "forget-hosts",
    )
    of_tokens = (tokens.PUBLISH, tokens.LEARN, tokens.SIGN, tokens.FORGET, tokens.END)
    assert of_tokens == ("publish", "learn", "sign", "forget", "end")
    of_stop = (planned_stop.REMOVE, planned_stop.KEY, planned_stop.DAEMONS, planned_stop.UP, planned_stop.MEMBERS)
    assert of_stop == ("remove", "key", "daemons", "up", "members")
    assert [turn.value for turn in Turn] == ["this stack", "outside hosts", "you, in a planned stop"]
    assert [state.value for state in State] == ["done", "now", "later"]
    assert [role.value for role in Role] == ["login", "slurmd", "slurmdbd", "backup slurmctld", "slurmctld"]
    assert (WAITS, FOUND) == (3, 6)


@pytest.mark.parametrize("file", ["slurm.jwks", "slurm.key", "jwt_hs256.key", "jwks.json"])
def test_marks_that_scripts_leave_on_hosts(file: str) -> None:
    digest = sha256(b"{}").hexdigest()
    placed = host_scripts.File(file, b"{}")
    assert f"mark {file}.read {digest}" in host_scripts.change(Host("h", (Role.SLURMD,)), [placed]).splitlines()
    stopped = host_scripts.replaced(Host("h", (Role.SLURMD,)), placed).splitlines()
    assert stopped.index(f"mark {file}.read begun") < stopped.index(f"mark {file}.read {digest}")
    assert host_scripts.mark([placed]).splitlines().count(f"mark {file}.read {digest}") == 1


def test_lines_that_scripts_print_for_us() -> None:
    digest = sha256(b"{}").hexdigest()
    found = host_scripts.parse_report(
        f"Welcome\nslinky-iac: slurm.jwks {digest} {digest}\nslinky-iac: slurm.key {digest} never\n"
    )
    assert found == {
        "slurm.jwks": host_scripts.KeyReport(digest, read=True),
        "slurm.key": host_scripts.KeyReport(digest, read=False),
    }
    assert host_scripts.parse_report(f"slinky-iac: slurm.key {digest} begun")["slurm.key"].cut
    assert 'echo "slinky-iac: slurm.key ' in host_scripts.look(["slurm.key"])
