"""The hand-off of a stack with token keys: the public set on both daemons' hosts, their line, and a check that tells."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from slinky_iac.commands.handoff.common import Known
from slinky_iac.commands.handoff.model import Handoff, Sheet
from slinky_iac.commands.handoff.role_sheets import handoff
from slinky_iac.config.reading.load import load
from slinky_iac.keys.public import kids
from slinky_iac.parts.tokens.key import TOKENS
from slinky_iac.parts.tokens.public import public_set
from tests.rsa_keys import pem, token_key
from tests.stacks import form, outside
from tests.unit.handoff.made import FORMS, KEYS, KNOWN, texts
from tests.unit.handoff.test_check import Tree

SET = public_set([token_key("old"), token_key("new")]).decode()
LINE = "AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key,jwks=/etc/slurm/jwks.json"
CONF, PLACE = "/etc/slurm/slurm.conf", "/etc/slurm/jwks.json"
KID = token_key().kid
DIGEST = hashlib.sha256(SET.rstrip("\n").encode()).hexdigest()
CALL = ("check_jwks", CONF, PLACE, DIGEST, *sorted(kids(SET.encode())))


def handed(known: Known) -> Handoff:
    return handoff(form("all-outside", keys={"tokens": "rs256"}), known)


def sheet(made: Handoff, role: str) -> Sheet:
    (found,) = [each for each in made.sheets if each.role == role]
    return found


@pytest.mark.parametrize("role", ["slurmctld", "slurmdbd"])
def test_both_daemons_get_the_set_without_any_key_being_asked_for(role: str) -> None:
    made = sheet(handed(replace(KNOWN, public=((TOKENS.bundle, SET),))), role)
    (placed,) = [each for each in made.files if each.path == PLACE]
    assert (placed.text, placed.mode, placed.owner) == (SET, 0o644, "slurm")
    assert LINE in made.wanted
    assert ("check_jwks", made.edits, PLACE, DIGEST, *sorted(kids(SET.encode()))) in made.checks
    for other in ("slurmd", "login", "slurmrestd"):
        assert [
            each.path
            for each in sheet(handed(replace(KNOWN, public=((TOKENS.bundle, SET),))), other).files
            if "jwks" in each.path
        ] == []


@pytest.mark.parametrize("name", FORMS)
def test_every_form_has_the_set_and_nothing_private(name: str) -> None:
    for keys in (None, KEYS):
        text = "".join(texts(FORMS[name](handed(replace(KNOWN, public=((TOKENS.bundle, SET),))), keys)).values())
        assert KID in text
        assert [line for which in ("old", "new") for line in pem(which).decode().splitlines()[1:-1] if line in text] == []


def test_a_set_that_nobody_could_read_is_an_open_point() -> None:
    made = handed(KNOWN)
    assert any("jwks.json" in point for point in made.open_points)
    assert [each.path for each in sheet(made, "slurmctld").files if "jwks" in each.path] == []


def test_without_token_keys_nothing_of_it_is_handed_over() -> None:
    made = handoff(load(outside()), KNOWN)
    files = texts(FORMS["folder"](made, None))
    assert "jwks" not in "".join(text for name, text in files.items() if not name.endswith("try.sh"))


@pytest.fixture
def host(tmp_path: Path) -> Tree:
    etc = tmp_path / "etc/slurm"
    etc.mkdir(parents=True)
    (etc / "jwks.json").write_text(SET)
    return Tree(tmp_path)


def conf(host: Tree, line: str) -> None:
    (host.root / "etc/slurm/slurm.conf").write_text(f"ClusterName=atlas\n{line}\n")


def kinds(host: Tree, *call: str) -> list[str]:
    return [line.split()[0] for line in host.check(*call).lines]


def test_the_check_wants_the_set_named_and_whole(host: Tree) -> None:
    conf(host, LINE)
    assert kinds(host, *CALL) == ["ok", "ok"]
    (host.root / "etc/slurm/jwks.json").write_text(SET + "\n\n")  # `pulumi stack output` ends its line
    assert kinds(host, *CALL) == ["ok", "ok"]
    (host.root / "etc/slurm/jwks.json").unlink()
    assert host.check(*CALL).status == 1


def test_a_key_that_lacks_is_named(host: Tree) -> None:
    conf(host, LINE)
    (host.root / "etc/slurm/jwks.json").write_bytes(public_set([token_key("old")]))
    said = host.check(*CALL)
    assert said.status == 1
    assert f"lacks the key {token_key('new').kid}" in said.lines[1]


def test_a_rogue_key_beside_the_stack_s_is_bad(host: Tree) -> None:
    conf(host, LINE)
    (host.root / "etc/slurm/jwks.json").write_bytes(public_set([token_key(each) for each in ("old", "new", "third")]))
    said = host.check(*CALL)
    assert said.status == 1
    assert "holds 3 keys, the stack's are 2" in said.lines[1]


def test_another_modulus_under_the_stack_s_name_is_bad(host: Tree) -> None:
    conf(host, LINE)
    document = json.loads(SET)
    document["keys"][0]["n"] = json.loads(public_set([token_key("third")]))["keys"][0]["n"]
    (host.root / "etc/slurm/jwks.json").write_text(json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n")
    said = host.check(*CALL)
    assert said.status == 1
    assert "is not the stack's file" in said.lines[1]


def test_a_set_that_was_not_known_is_unknown_and_not_fine(host: Tree) -> None:
    conf(host, LINE)
    assert kinds(host, "check_jwks", CONF, PLACE, "") == ["ok", "unknown"]


def test_a_line_that_lacks_the_set_is_told_with_what_to_add_and_not_doubled(host: Tree) -> None:
    conf(host, "AuthAltParameters = jwt_key=/etc/slurm/jwt_hs256.key")
    said = host.check(*CALL)
    assert said.status == 1
    assert "add ,jwks=/etc/slurm/jwks.json to it" in said.lines[0]
    assert host.check("check_jwt_key", CONF, "/etc/slurm/jwt_hs256.key", LINE.split("=", 1)[1], missing=True).lines == []


def test_where_there_is_no_line_the_whole_one_is_to_be_added(host: Tree) -> None:
    conf(host, "")
    call = ("check_jwt_key", CONF, "/etc/slurm/jwt_hs256.key", LINE.split("=", 1)[1])
    assert host.check(*call, missing=True).lines == [LINE]
    assert kinds(host, *CALL) == ["ok"], "the missing line is reported once"
