"""The token key comes in whole or not at all, never over one that daemons know, and no command shows any of it."""

from __future__ import annotations

import argparse
import base64
import json
import stat
from pathlib import Path

import pytest

from slinky_iac.commands.keys import cli
from slinky_iac.commands.keys.import_key import import_key, read_key
from slinky_iac.commands.rotation.driver import RotationContext
from slinky_iac.commands.rotation.engine import Engine, others_that_change
from slinky_iac.config.reading.load import load
from slinky_iac.config.reading.values import Values
from slinky_iac.errors import KeyMaterialError, RotationError
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.parts.tokens.rsa import TokenKey, parse
from tests.rsa_keys import pem, token_key
from tests.stacks import outside
from tests.unit.rotation.test_engine import Pulumi
from tests.unit.rotation.test_tokens import CONFIG as TOKENS_OUTSIDE
from tests.unit.rotation.world import World

CONFIG = load(outside(keys={"source": "imported", "tokens": "rs256"}))
BODY = [line for which in ("old", "new") for line in pem(which).decode().splitlines()[1:-1]]


def values(**given: TokenKey) -> Values:
    return Values(CONFIG, (), KeyMaterial({}, given))


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    return parser.parse_args(words)


def test_a_made_file_is_its_owners_alone_and_its_name_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "token.pem"
    assert cli.run(arguments("generate", "tokens", "--out", str(file), "--json")) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"schema": 1, "file": str(file), "kid": parse("made", file.read_bytes()).kid}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(KeyMaterialError, match="exists already"):
        cli.run(arguments("generate", "tokens", "--out", str(file)))


@pytest.fixture
def imported() -> Pulumi:
    """A stack without a token key, whose `pulumi` is a stand-in."""
    return Pulumi()


def run(pulumi: Pulumi, *words: str) -> int:
    def ports(given: argparse.Namespace, _policies: tuple[str, ...]) -> RotationContext:
        return RotationContext(Engine(given.stack, pulumi), print, read_to_import=lambda _engine: values())

    return cli.run(arguments(*words), ports)


def test_an_import_sets_the_pem_as_it_is_and_says_only_its_name(
    imported: Pulumi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "token.pem"
    file.write_bytes(pem())
    file.chmod(0o644)
    assert run(imported, "import", "tokens", "--file", str(file)) == 0
    (command,) = imported.commands
    assert command[1:5] == ["config", "set", "--secret", "slinky-iac:tokenKey"]
    assert imported.inputs == [base64.b64encode(pem()).decode()]
    said = capsys.readouterr()
    assert token_key().kid in said.out
    assert "2048 bits" in said.out
    assert "can be read by others" in said.err
    assert [line for line in BODY if line in said.out + said.err] == []


def test_no_daemon_has_this_key_to_give(imported: Pulumi) -> None:
    with pytest.raises(KeyMaterialError, match="no daemon's Secret holds this key"):
        run(imported, "import", "tokens", "--secret", "slurm/a/b")
    assert imported.commands == []


def test_the_same_key_again_changes_nothing_and_another_is_a_rotation() -> None:
    pulumi = Pulumi()
    engine = Engine(None, pulumi)
    import_key(engine, values(tokenKey=token_key()), TOKENS, pem(), replace=False)
    with pytest.raises(RotationError, match=r"keys rotate tokens.*Nothing was imported"):
        import_key(engine, values(tokenKey=token_key()), TOKENS, pem("new"), replace=False)
    with pytest.raises(RotationError, match="is being rotated"):
        import_key(engine, values(tokenKey=token_key(), tokenKeyNext=token_key("new")), TOKENS, pem(), replace=True)
    assert pulumi.commands == []
    import_key(engine, values(tokenKey=token_key()), TOKENS, pem("new"), replace=True)
    assert pulumi.inputs == [base64.b64encode(pem("new")).decode()]


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(KeyMaterialError, match="can't be read"):
        read_key(TOKENS, tmp_path / "none", allow_trailing_newline=False)


def test_an_update_of_this_rotation_may_touch_the_public_set_and_no_other_map() -> None:
    urn = "urn:pulumi:dev::slinky-iac::slinky:slurm:HybridCluster${}::{}"
    mine = urn.format("slinky:slurm:AuthKeys$kubernetes:core/v1:ConfigMap", "lab-keys-token-jwks")
    noted = urn.format("slinky:slurm:Accounting$kubernetes:slinky.slurm.net/v1beta1:Accounting", "slurm-slurm-accounting")
    other = urn.format("slinky:slurm:Controller$kubernetes:core/v1:ConfigMap", "lab-controller-slurm-prolog")
    states = {
        "oldState": {"inputs": {}},
        "newState": {"inputs": {"metadata": {"annotations": {"slinky-iac/token-keys": "x"}}}},
    }
    steps = [{"urn": each, "op": "update", **states} for each in (mine, noted, other)]
    assert others_that_change(json.dumps({"steps": steps})) == ["lab-controller-slurm-prolog"]


def test_an_update_that_replaces_no_secret_lifts_no_protection() -> None:
    pulumi = Pulumi()
    engine = Engine(None, pulumi, checked=True)
    engine.update_keys(lambda _line: None, replaces=False)
    assert [command[1] for command in pulumi.commands] == ["up"]


@pytest.mark.parametrize(
    ("under_way", "code", "words"), [(False, 0, "no rotation is under way"), (True, 3, "--script ctl | ssh")]
)
def test_a_run_says_where_it_stands_and_ends_with_3_where_hosts_are_awaited(
    under_way: bool, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(load(TOKENS_OUTSIDE), set={})
    if under_way:
        world.runner(TOKENS, via=False).run(start=True)

    def ports(*_: object) -> RotationContext:
        return world.context(via=False)

    assert cli.run(arguments("rotate", "tokens"), ports) == code
    said = capsys.readouterr().out
    assert words in said
    assert "--confirm" not in said, "tokens tell"
    assert cli.run(arguments("rotate", "tokens", "--plan", "--json"), ports) == 0
    plan = json.loads(capsys.readouterr().out)["rotation"]
    assert (plan["key"], plan["underWay"]) == ("tokens", under_way)
    assert [step["name"] for step in plan["steps"]] == ["make", "publish", "learn", "sign", "forget", "end"]


@pytest.mark.parametrize("word", ["--stop", "--confirm=learn"])
def test_what_only_the_other_rotations_need_is_refused(word: str) -> None:
    with pytest.raises(RotationError, match="is replaced without a stop"):
        cli.run(arguments("rotate", "tokens", word))
