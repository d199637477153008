"""Keys that are being replaced: what the settings allow beside each other, and what they make."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from slinky_iac.config.findings import Level
from slinky_iac.config.reading.load import load
from slinky_iac.config.reading.values import values_of
from slinky_iac.config.rules.sections import findings
from slinky_iac.errors import ConfigError
from slinky_iac.keys.catalogue import SLURM
from slinky_iac.keys.raw import kid, several_keys
from slinky_iac.specs.workers import nodeset_spec
from tests.raw_keys import raw_key
from tests.stacks import minimal, outside

OLD, NEW, JWT, JWT_NEXT = (raw_key(word) for word in ("old", "new", "jwt", "next"))
BOTH = frozenset({"slurmKey", "jwtKey"})
JWKS: dict[str, Any] = {"keys": {"source": "imported", "jwks": True}}


def errors(data: dict[str, Any], *coming: str) -> list[tuple[str, str]]:
    found = findings(load(data), BOTH | set(coming))
    return [(f.path, f.message) for f in found if f.level is Level.ERROR]


def values(data: dict[str, Any], **secrets: bytes) -> bytes | None:
    given = {"slurmKey": OLD, "jwtKey": JWT, **secrets}
    own = {name: json.dumps(section) for name, section in data.items()}
    own |= {name: base64.b64encode(raw).decode() for name, raw in given.items()}
    return values_of(own, frozenset(given)).keys.bundle(SLURM)


@pytest.mark.parametrize("coming", ["slurmKeyNext", "slurmKeyPrevious"])
def test_slurm_key_changes_under_jobs_only_where_pods_can_take_part(coming: str) -> None:
    assert errors(outside(**JWKS), coming) == []
    found = errors(outside(), coming)
    assert [path for path, _ in found] == ([] if coming == "slurmKeyNext" else ["keys.jwks"])
    assert all("slurmd's pods would know one key only" in text for _, text in found)


@pytest.mark.parametrize(
    ("data", "coming", "how"),
    [
        (outside(**JWKS), "slurmKeyNext", "under running jobs"),
        (outside(**JWKS), "slurmKeyPrevious", "under running jobs"),
        (outside(), "jwtKeyNext", "under running jobs"),
        (outside(), "slurmKeyNext", "in a planned stop. Steps: make; remove"),
        (minimal(keys={"source": "imported"}), "jwtKeyNext", "in a planned stop. Steps: make; remove"),
    ],
)
def test_every_preview_says_that_a_key_is_being_replaced_and_how_it_goes_on(
    data: dict[str, Any], coming: str, how: str
) -> None:
    assert not [f for f in findings(load(data), BOTH) if "is being replaced" in f.message]
    (found,) = [f for f in findings(load(data), BOTH | {coming}) if "is being replaced" in f.message]
    assert (found.level, found.path) == (Level.INFO, "keys")
    assert found.message.startswith(f"{coming} is set: the key is being replaced {how}")
    assert f"keys rotate {'jwt' if coming == 'jwtKeyNext' else 'slurm'} --plan` shows" in found.message


def test_a_jwt_key_is_rotated_without_any_setting() -> None:
    assert errors(outside(), "jwtKeyNext") == []


def test_two_rotations_of_one_key_at_once_are_refused() -> None:
    ((path, text),) = errors(outside(**JWKS), "slurmKeyNext", "slurmKeyPrevious")
    assert path == "keys"
    assert "one of them at a time" in text


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"keys": {"source": "generated", "jwks": True}}, "keys.source: imported"),
        ({"controller": {}}, "slurmctld is in Kubernetes"),
        ({"logins": {"main": {"sssdConfFrom": {"secret": "sssd"}}}}, "main"),
    ],
)
def test_jwks_is_refused_where_somebody_would_be_cut_off(more: dict[str, Any], word: str) -> None:
    assert any(path == "keys.jwks" and word in text for path, text in errors(outside(**{**JWKS, **more})))


def test_keys_that_come_go_with_imported_keys_only() -> None:
    data = outside(keys={"source": "existing", "slurmKeyFrom": {"secret": "a"}, "jwtKeyFrom": {"secret": "b"}})
    data["cluster"] |= {"createNamespace": False}
    assert [path for path, _ in errors(data, "jwtKeyNext")] == ["keys.source"]


def test_a_key_that_comes_is_checked_like_the_one_that_goes() -> None:
    with pytest.raises(ConfigError, match="slurmKeyNext: has 8 bytes") as caught:
        values(outside(**JWKS), slurmKeyNext=b"\xff" * 8)
    assert base64.b64encode(b"\xff" * 8).decode() not in str(caught.value)


def test_the_file_of_the_pods_follows_the_secrets_that_are_set() -> None:
    assert values(outside(**JWKS)) == several_keys(OLD)
    assert values(outside(**JWKS), slurmKeyNext=NEW) == several_keys(OLD, NEW)
    assert values(outside(**JWKS), slurmKey=NEW, slurmKeyPrevious=OLD) == several_keys(NEW, OLD)


def test_pods_read_the_file_from_a_folder_that_follows_the_secret() -> None:
    config = load(outside(**JWKS, nodesets={"gpu": {"replicas": 1, "env": {"A": "b"}}}))
    spec = nodeset_spec(config, "gpu", config.nodesets["gpu"])
    (volume,) = spec["template"]["spec"]["volumes"]
    assert volume == {"name": "slurm-jwks", "secret": {"secretName": "slurm-slurm-jwks", "defaultMode": 0o600}}
    (mount,) = spec["slurmd"]["volumeMounts"]
    assert mount == {"name": "slurm-jwks", "mountPath": SLURM.folder, "readOnly": True}
    assert "subPath" not in mount, "kubelet doesn't follow a Secret that is mounted as a file"
    assert {"name": "SLURM_SACK_JWKS", "value": "/etc/slurm-jwks/slurm.jwks"} in spec["slurmd"]["env"]


def test_a_rotation_changes_no_pod() -> None:
    """Its file changes under it; a changed template would replace every pod, and its jobs would have to end first."""
    config = load(outside(**JWKS, nodesets={"gpu": {"replicas": 1}}))
    assert kid(OLD) not in json.dumps(nodeset_spec(config, "gpu", config.nodesets["gpu"]))
    plain = load(outside(nodesets={"gpu": {"replicas": 1}}))
    assert "jwks" not in json.dumps(nodeset_spec(plain, "gpu", plain.nodesets["gpu"]))
