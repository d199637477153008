"""A key comes in byte for byte or not at all, never over one that is in use, and a new one is its owner's alone."""

from __future__ import annotations

import argparse
import base64
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from slinky_iac.commands.keys import cli
from slinky_iac.commands.keys.import_key import from_secret, generate, import_key, read_key
from slinky_iac.commands.rotation.driver import RotationContext
from slinky_iac.commands.rotation.engine import Engine
from slinky_iac.config.reading.load import load
from slinky_iac.config.reading.values import Values
from slinky_iac.errors import KeyMaterialError, RotationError
from slinky_iac.keys.catalogue import JWT as JWT_KEY
from slinky_iac.keys.catalogue import SLURM
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.raw import fingerprint
from tests.stacks import ROOT, outside
from tests.unit.rotation.test_engine import JWT, KEY, NEXT, Pulumi
from tests.unit.rotation.test_engine import config as config_of
from tests.unit.rotation.world import World


def values(**given: bytes) -> Values:
    return Values(load(outside()), (), KeyMaterial(given))


def test_a_generated_file_is_its_owners_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        shown = generate(SLURM, tmp_path / "slurm.key")
    finally:
        os.umask(old)
    file = tmp_path / "slurm.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert shown == fingerprint(file.read_bytes())
    assert not file.read_bytes().endswith(b"\n")


def test_a_disk_that_is_full_leaves_no_part_of_a_key(tmp_path: Path) -> None:
    script = """if True:
        import resource, sys
        from pathlib import Path
        from slinky_iac.errors import KeyMaterialError
        from slinky_iac.commands.keys.import_key import generate
        from slinky_iac.keys.catalogue import SLURM
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            generate(SLURM, Path(sys.argv[1]))
        except KeyMaterialError as error:
            print(error)
    """
    file = tmp_path / "slurm.key"
    done = subprocess.run([sys.executable, "-c", script, str(file)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "can't be written" in done.stdout
    assert not file.exists()


def test_a_file_that_is_there_is_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "slurm.key"
    file.write_bytes(KEY)
    with pytest.raises(KeyMaterialError, match="exists already"):
        generate(SLURM, file)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(KeyMaterialError):
        generate(SLURM, tmp_path / "link")
    assert file.read_bytes() == KEY
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(KeyMaterialError, match="can't be created"):
        generate(SLURM, tmp_path / "no" / "slurm.key")


def test_the_newline_trap_is_caught_at_the_file(tmp_path: Path) -> None:
    file = tmp_path / "slurm.key"
    file.write_bytes(KEY + b"\n")
    with pytest.raises(KeyMaterialError, match="line break"):
        read_key(SLURM, file, allow_trailing_newline=False)
    assert read_key(SLURM, file, allow_trailing_newline=True) == KEY + b"\n"


@pytest.mark.parametrize(("mode", "warned"), [(0o644, True), (0o600, False)])
def test_a_file_that_others_can_read_is_told(
    mode: int, warned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "slurm.key"
    file.write_bytes(KEY)
    file.chmod(mode)
    read_key(SLURM, file, allow_trailing_newline=False)
    assert ("can be read by others" in capsys.readouterr().err) == warned


def test_an_import_sets_the_secret_byte_for_byte() -> None:
    pulumi = Pulumi()
    import_key(Engine(None, pulumi), values(jwtKey=JWT), SLURM, KEY, replace=False)
    assert base64.b64decode(pulumi.inputs[0]) == KEY
    assert [command[4] for command in pulumi.commands] == ["slinky-iac:slurmKey"]


def test_the_same_key_again_changes_nothing() -> None:
    pulumi = Pulumi()
    import_key(Engine(None, pulumi), values(slurmKey=KEY), SLURM, KEY, replace=False)
    assert pulumi.commands == []


def test_another_key_is_a_rotation_unless_nothing_runs_with_the_old() -> None:
    pulumi = Pulumi()
    with pytest.raises(RotationError, match="keys rotate slurm"):
        import_key(Engine(None, pulumi), values(slurmKey=KEY), SLURM, NEXT, replace=False)
    assert pulumi.commands == []
    import_key(Engine(None, pulumi), values(slurmKey=KEY), SLURM, NEXT, replace=True)
    assert len(pulumi.commands) == 1


@pytest.mark.parametrize("coming", ["slurmKeyNext", "slurmKeyPrevious"])
def test_nothing_is_imported_into_a_rotation(coming: str) -> None:
    given = values(slurmKey=KEY, **{coming: NEXT})
    with pytest.raises(RotationError, match="is being rotated"):
        import_key(Engine(None, Pulumi()), given, SLURM, JWT, replace=True)
    import_key(Engine(None, Pulumi()), given, JWT_KEY, JWT, replace=False)


def test_one_key_for_both_is_refused() -> None:
    with pytest.raises(KeyMaterialError, match="any daemon"):
        import_key(Engine(None, Pulumi()), values(slurmKey=KEY), JWT_KEY, KEY, replace=False)


@pytest.mark.parametrize("place", ["", "slurm", "slurm/name", "slurm//entry", "a/b/c/d"])
def test_a_secrets_entry_is_named_whole(place: str) -> None:
    with pytest.raises(ValueError, match="NAMESPACE/SECRET/ENTRY"):
        from_secret(values(), World(), place)  # type: ignore[arg-type]


def test_a_secret_that_is_not_there_and_an_entry_that_it_lacks_are_told() -> None:
    world = World()
    with pytest.raises(KeyMaterialError, match="there is no Secret slurm/none"):
        from_secret(values(), world, "slurm/none/slurm.key")  # type: ignore[arg-type]
    with pytest.raises(KeyMaterialError, match=r"has the entries slurm\.key, not 'other'"):
        from_secret(values(), world, "slurm/slurm-auth-slurm/other")  # type: ignore[arg-type]


def imported(stored: str, file: Path, *words: str, secret: bool = False) -> Pulumi:
    """`keys import jwt` where the stack's jwtKey is ``stored``, in plain text unless it is ``secret``."""
    config = json.loads(config_of(slurmKey=KEY)) | {"slinky-iac:jwtKey": {"value": stored, "secret": secret}}
    pulumi = Pulumi(config=json.dumps(config))
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    arguments = parser.parse_args(["import", "jwt", "--file", str(file), *words])
    cli.run(arguments, lambda given, _: RotationContext(Engine(given.stack, pulumi), print))
    return pulumi


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A good key."""
    found = tmp_path / "jwt.key"
    found.write_bytes(JWT)
    found.chmod(0o600)
    return found


@pytest.mark.parametrize("words", [(), ("--replace",)])
def test_a_key_in_plain_text_becomes_a_secret_and_is_said_to_be_leaked(
    words: tuple[str, ...], file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pulumi = imported(base64.b64encode(JWT).decode(), file, *words)
    assert [command[1:5] for command in pulumi.commands[1:]] == [["config", "set", "--secret", "slinky-iac:jwtKey"]]
    said = capsys.readouterr().err
    assert "was in the stack's file in plain text" in said
    assert base64.b64encode(JWT).decode() not in said


def test_the_same_secret_is_not_set_again(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(imported(base64.b64encode(JWT).decode(), file, secret=True).commands) == 1
    assert "; the stack has this key already, so nothing was changed" in capsys.readouterr().out


BAD = {"no base64": "%%%", "a line break": base64.b64encode(b"a text of an editor, as echo leaves it behind!\n").decode()}


@pytest.mark.parametrize("stored", BAD.values(), ids=BAD)
def test_a_stored_key_that_cannot_be_read_is_replaced_or_the_way_out_is_said(stored: str, file: Path) -> None:
    with pytest.raises(RotationError, match="`pulumi config rm slinky-iac:jwtKey`") as refused:
        imported(stored, file, secret=True)
    assert "--replace" in str(refused.value)
    assert stored not in str(refused.value)
    pulumi = imported(stored, file, "--replace", secret=True)
    assert base64.b64decode(pulumi.inputs[-1]) == JWT
