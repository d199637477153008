"""A stack's configuration is read for commands as the program reads it; secrets only where they are asked for."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from typing import Any

import pytest

from slinky_iac.cluster.pulumi_command import Runner
from slinky_iac.commands.stack_config import configured
from slinky_iac.config.stack import FIRST_SECRETS
from slinky_iac.errors import ConfigError, StateError
from tests.raw_keys import raw_key

SLURM, JWT = raw_key("slurm"), raw_key("jwt")
PLAIN: dict[str, Any] = {
    "cluster": {"name": "lab"},
    "keys": {"source": "imported"},
    "controller": {"external": {"host": "ctl"}},
    "accounting": {"enabled": False},
}


def pulumi(asked: list[Sequence[str]], *, show: bool = True, code: int = 0, out: str | None = None) -> Runner:
    """A `pulumi config` that shows secrets where it is asked to."""

    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append(arguments)
        body: dict[str, Any] = {
            f"slinky-iac:{name}": {"value": json.dumps(value), "objectValue": value, "secret": False}
            for name, value in PLAIN.items()
        }
        for name, raw in (("slurmKey", SLURM), ("jwtKey", JWT)):
            value = {"value": base64.b64encode(raw).decode()} if show and "--show-secrets" in arguments else {}
            body[f"slinky-iac:{name}"] = {"secret": True, **value}
        body["aws:region"] = {"value": "eu-west-1", "secret": False}
        text = json.dumps(body) if out is None else out
        return subprocess.CompletedProcess(list(arguments), code, text, "error: incorrect passphrase")

    return run


def test_secrets_are_neither_asked_for_nor_read_unless_they_are_wanted() -> None:
    asked: list[Sequence[str]] = []
    values = configured("dev", pulumi(asked))
    assert (values.config.cluster.name, values.keys.raw) == ("lab", {})
    assert "--show-secrets" not in asked[0]
    assert list(asked[0][-2:]) == ["--stack", "dev"]


def test_imported_keys_are_the_bytes_that_were_set_and_show_nowhere() -> None:
    asked: list[Sequence[str]] = []
    values = configured(None, pulumi(asked), with_keys=True)
    assert values.keys.raw == {"slurmKey": SLURM, "jwtKey": JWT}
    assert "--stack" not in asked[0]
    assert repr(SLURM)[2:-1] not in repr(values)


def test_what_pulumi_refuses_is_told_in_its_words() -> None:
    with pytest.raises(StateError, match="incorrect passphrase"):
        configured("dev", pulumi([], code=255), with_keys=True)


@pytest.mark.parametrize("out", ["", "[]", '{"slinky-iac:cluster": 1}', '{"slinky-iac:cluster": {"value": "{}"}}'])
def test_anything_but_a_configuration_is_refused(out: str) -> None:
    with pytest.raises(StateError, match="something else"):
        configured("dev", pulumi([], out=out))


def test_faults_are_those_of_the_program() -> None:
    body = {"slinky-iac:cluster": {"value": '{"nam": "x"}', "secret": False}}
    with pytest.raises(ConfigError, match=r"cluster.nam: is not a setting; did you mean name\?"):
        configured("dev", pulumi([], out=json.dumps(body)))


def test_who_only_looks_needs_no_secret() -> None:
    bare = {"slinky-iac:cluster": {"value": '{"name": "lab"}', "secret": False}}
    bare |= {"slinky-iac:keys": {"value": '{"source": "imported"}', "secret": False}}
    bare |= {"slinky-iac:accounting": {"value": '{"enabled": false}', "secret": False}}

    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(arguments, 0, json.dumps(bare), "")

    with pytest.raises(ConfigError, match="slurmKey is not set"):
        configured("dev", run)
    assert configured("dev", run, taken_for_set=FIRST_SECRETS).config.cluster.name == "lab"
