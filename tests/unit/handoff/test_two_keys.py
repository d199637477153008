"""While slurm.key is being replaced under running jobs, a host that joins gets both keys, or isn't started."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from slinky_iac.commands.handoff.cli import held_keys, known
from slinky_iac.commands.handoff.model import Handoff
from slinky_iac.commands.handoff.role_sheets import handoff
from slinky_iac.config.reading.values import Values, values_of
from slinky_iac.keys.raw import fingerprint, several_keys
from tests.clusters import RAW_KEYS
from tests.stacks import ROOT, merged, sections
from tests.unit.handoff.made import FORMS, texts

NEW = b"the slurm.key that comes, long enough for it"
DATA = merged(sections(ROOT / "examples" / "Pulumi.controller-outside.yaml"), {"keys": {"jwks": True}, "logins": None})
LOOKS = "Environment=SLURM_SACK_JWKS=/etc/slurm/slurm.jwks"
BOTH = several_keys(RAW_KEYS[0], NEW)


def values(*, with_keys: bool = True, data: dict[str, Any] = DATA, **coming: bytes) -> Values:
    raw = {"slurmKey": RAW_KEYS[0], "jwtKey": RAW_KEYS[1], **coming}
    own = {name: json.dumps(section) for name, section in data.items()}
    own |= {name: base64.b64encode(each).decode() for name, each in raw.items()}
    return values_of(own, frozenset(raw) | {"databasePassword"}, with_keys=with_keys)


def silent(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    outputs = {"slurmKeyFingerprint": "not known", "jwtKeyFingerprint": "not known"}
    if arguments[0] == "stack":
        return subprocess.CompletedProcess(arguments, 0, json.dumps(outputs), "")
    return subprocess.CompletedProcess(arguments, 1, "", "incorrect passphrase")


def handed(found: Values, *, with_keys: bool = True) -> Handoff:
    held = held_keys(found) if with_keys else None
    seen = known(None, found, None, held, silent)
    return handoff(found.config, seen)


@pytest.mark.parametrize("coming", ["slurmKeyNext", "slurmKeyPrevious"])
def test_with_keys_every_host_gets_both_beside_slurm_key(coming: str) -> None:
    found = values(**{coming: NEW})
    files = FORMS["folder"](handed(found), held_keys(found))
    jwks = [each for each in files if each.path.name == "slurm.jwks"]
    assert {str(each.path.parent.parent) for each in jwks} >= {"slurmctld", "slurmdbd", "slurmd", "login"}
    assert {(each.content, each.mode) for each in jwks} == {(BOTH, 0o600)}
    assert any(str(each.path) == "keys/slurm.jwks" for each in FORMS["ansible"](handed(found), held_keys(found)))
    assert base64.b64encode(BOTH).decode() in texts(FORMS["cloud-init"](handed(found), held_keys(found)))["slurmd.yaml"]


@pytest.mark.parametrize("form", FORMS)
def test_without_keys_both_are_asked_for_and_no_byte_is_in_it(form: str) -> None:
    found = values(with_keys=False, slurmKeyNext=b"")
    files = texts(FORMS[form](handed(found, with_keys=False), None))
    assert "cat /etc/slurm/slurm.jwks >" in files["README.md"]
    assert "How long these keys hold: slurm.key is being replaced" in files["README.md"]
    assert not [path for path in files if Path(path).name == "slurm.jwks"]


def test_a_host_without_slurm_jwks_is_not_started_and_its_check_says_so() -> None:
    found = values(slurmKeyNext=NEW)
    files = texts(FORMS["folder"](handed(found), None))
    assert "\nkey slurm.jwks /etc/slurm/slurm.jwks slurm 600 " in files["slurmd/install.sh"]
    check = files["slurmd/files/usr/local/sbin/slurm-check-slurmd"]
    assert f"check_key /etc/slurm/slurm.jwks {fingerprint(BOTH)}" in check


def test_at_rest_and_before_a_planned_stop_slurm_key_is_all() -> None:
    """Before a stop no daemon reads a slurm.jwks, and the stop takes it away from hosts that have one."""
    stopping = values(data=merged(DATA, {"keys": {"jwks": False}}), slurmKeyNext=NEW)
    for found in (values(), values(jwtKeyNext=NEW), stopping):
        files = texts(FORMS["folder"](handed(found), held_keys(found)))
        assert not [path for path, text in files.items() if "slurm.jwks" in path + text.replace(LOOKS, "")]


@pytest.mark.parametrize("jwks", [True, False])
def test_a_daemon_that_may_live_through_a_rotation_looks_for_the_file_from_its_first_start(jwks: bool) -> None:
    """Else the first rotation restarts it, and for a second each srun on its host fails."""
    files = texts(FORMS["folder"](handed(values(data=merged(DATA, {"keys": {"jwks": jwks}}))), None))
    units = {path: text for path, text in files.items() if path.endswith("10-slinky-iac.conf")}
    looking = {path.split("/")[0] for path, text in units.items() if LOOKS in text.partition("[Service]")[2].splitlines()}
    assert looking == ({"slurmd", "login"} if jwks else set())
