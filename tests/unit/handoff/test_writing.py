"""The command and its files: keys only where no other user reads, never over what isn't ours, never on the screen."""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import shutil
import stat
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from slinky_iac.commands import cli
from slinky_iac.commands.handoff import cli as handoff_command
from slinky_iac.commands.handoff.cli import add_arguments, held_keys, known, run
from slinky_iac.commands.handoff.model import Rendered, rendered
from slinky_iac.commands.handoff.write import MARKER, write
from slinky_iac.config.reading.load import load
from slinky_iac.config.reading.values import Values
from slinky_iac.errors import HandoffError, StateError
from slinky_iac.keys.raw import fingerprint
from tests.api_server import ApiServer
from tests.clusters import RAW_KEYS, all_traces
from tests.stacks import ROOT, form, sections, told
from tests.unit.handoff.made import KEYS

FILES = (rendered("README.md", "hello\n"), rendered("login/install.sh", "#!/bin/bash\n", 0o755))
KEY_FILE = Rendered(PurePosixPath("login/keys/slurm.key"), KEYS["slurm.key"], 0o600)


def tree(folder: Path) -> dict[str, int]:
    """Files below a folder and their modes."""
    return {str(p.relative_to(folder)): stat.S_IMODE(p.stat().st_mode) for p in folder.rglob("*") if p.is_file()}


def test_files_are_written_with_their_modes(tmp_path: Path) -> None:
    write(tmp_path / "out", FILES, with_keys=False)
    assert tree(tmp_path / "out") == {MARKER: 0o644, "README.md": 0o644, "login/install.sh": 0o755}


def test_with_keys_nothing_is_anybody_else_s_to_read_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        write(tmp_path / "out", (*FILES, KEY_FILE), with_keys=True)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert tree(tmp_path / "out") == {
        MARKER: 0o600,
        "README.md": 0o600,
        "login/install.sh": 0o700,
        "login/keys/slurm.key": 0o600,
    }
    assert (tmp_path / "out/login/keys/slurm.key").read_bytes() == RAW_KEYS[0]


def test_what_an_earlier_hand_off_left_and_this_one_has_not_is_removed_keys_first_of_all(tmp_path: Path) -> None:
    write(tmp_path / "out", (*FILES, KEY_FILE), with_keys=True)
    assert write(tmp_path / "out", FILES[:1], with_keys=False) == ("login/install.sh", "login/keys/slurm.key")
    assert write(tmp_path / "out", FILES[:1], with_keys=False) == ()
    assert set(tree(tmp_path / "out")) == {MARKER, "README.md"}
    assert not (tmp_path / "out/login").exists()


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701])
def test_keys_are_refused_a_folder_that_others_may_read(tmp_path: Path, mode: int) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out").chmod(mode)
    with pytest.raises(HandoffError, match=f"mode {mode:o}.*chmod 700"):
        write(tmp_path / "out", (KEY_FILE,), with_keys=True)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("with_keys", [True, False])
def test_a_folder_of_another_user_s_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_keys: bool) -> None:
    """Who owns it may put another install.sh in it, which root then runs."""
    (tmp_path / "out").mkdir(mode=0o700)
    monkeypatch.setattr("os.geteuid", lambda: (tmp_path / "out").stat().st_uid + 1)
    with pytest.raises(HandoffError, match="belongs to another user"):
        write(tmp_path / "out", (KEY_FILE,), with_keys=with_keys)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o1777])
def test_a_folder_that_others_may_change_is_refused_without_keys_too(tmp_path: Path, mode: int) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out").chmod(mode)
    with pytest.raises(HandoffError, match=f"has mode {mode & 0o777:o}.*may change.*chmod go-w"):
        write(tmp_path / "out", FILES, with_keys=False)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(("with_keys", "mode"), [(True, 0o700), (False, 0o755)])
def test_no_folder_is_anybody_else_s_to_change_whatever_the_umask(tmp_path: Path, with_keys: bool, mode: int) -> None:
    old = os.umask(0)
    try:
        write(tmp_path / "new" / "out", FILES, with_keys=with_keys)
    finally:
        os.umask(old)
    folders = [tmp_path / "new" / "out", *(path for path in (tmp_path / "new" / "out").rglob("*") if path.is_dir())]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {mode}
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o755


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_below_that_others_may_change_is_closed(tmp_path: Path, mode: int) -> None:
    """An earlier release made it so where the umask allowed it."""
    write(tmp_path / "out", FILES, with_keys=False)
    (tmp_path / "out" / "login").chmod(mode)
    write(tmp_path / "out", (*FILES, KEY_FILE), with_keys=False)
    assert stat.S_IMODE((tmp_path / "out" / "login").stat().st_mode) == 0o755


def test_a_link_below_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "precious").write_text("mine")
    write(tmp_path / "out", FILES[:1], with_keys=False)
    (tmp_path / "out" / "login").symlink_to(tmp_path / "victim")
    write(tmp_path / "out", FILES, with_keys=False)
    assert tree(tmp_path / "victim") == {"precious": 0o644}
    assert (tmp_path / "out/login/install.sh").read_bytes() == FILES[1].content
    assert not (tmp_path / "out/login").is_symlink()


def test_a_link_that_is_laid_between_any_two_steps_is_not_followed(tmp_path: Path) -> None:
    """Somebody who may write where the folder is to be lays a link to another of the caller's folders, again and again."""
    victim, out, over = tmp_path / "victim", tmp_path / "open" / "out", threading.Event()
    victim.mkdir()
    (victim / "precious").write_text("mine")
    (victim / MARKER).write_text("")
    out.parent.mkdir()

    def attack() -> None:
        link, away = out.with_name("link"), out.with_name("away")
        while not over.is_set():
            shutil.rmtree(away, ignore_errors=True)
            with contextlib.suppress(OSError):
                out.rename(away)
            with contextlib.suppress(OSError):
                link.symlink_to(victim)
                link.rename(out)
            with contextlib.suppress(OSError):
                out.unlink()

    attacker = threading.Thread(target=attack)
    attacker.start()
    try:
        for run in range(400):
            with contextlib.suppress(HandoffError):
                write(out, (*FILES, KEY_FILE), with_keys=True)
            assert tree(victim).keys() == {"precious", MARKER}, f"run {run}"
    finally:
        over.set()
        attacker.join()


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(HandoffError, match="holds files that aren't a hand-off"):
        write(tmp_path, FILES, with_keys=False)
    assert tree(tmp_path) == {"precious": 0o644}


def test_a_link_or_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").write_text("")
    for name in ("link", "file"):
        with pytest.raises(HandoffError, match="is a link or a file"):
            write(tmp_path / name, FILES, with_keys=True)
    assert list((tmp_path / "real").iterdir()) == []


# -- what the stack knows -----------------------------------------------------------------------------------------


def answering(outputs: dict[str, Any], *, decrypts: bool = True, name: str = "all-outside") -> Any:
    """`pulumi` as far as the command asks it."""
    data = sections(ROOT / "examples" / f"Pulumi.{name}.yaml")
    secrets = {"slurmKey": base64.b64encode(RAW_KEYS[0]).decode(), "jwtKey": base64.b64encode(RAW_KEYS[1]).decode()}

    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        if arguments[0] == "stack":
            return subprocess.CompletedProcess(arguments, 0, json.dumps(outputs), "")
        shown = "--show-secrets" in arguments
        if shown and not decrypts:
            return subprocess.CompletedProcess(arguments, 1, "", "error: incorrect passphrase")
        hidden = {
            f"slinky-iac:{key}": {"value": value, "secret": True} if shown else {"secret": True}
            for key, value in secrets.items()
            if data["keys"]["source"] == "imported"
        }
        return subprocess.CompletedProcess(arguments, 0, json.dumps(told(data) | hidden), "")

    return run


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(arguments)


def test_fingerprints_are_those_of_the_imported_keys() -> None:
    found = known(None, Values(form("all-outside"), ()), None, None, answering({}))
    assert (found.slurm_key, found.jwt_key) == (fingerprint(RAW_KEYS[0]), fingerprint(RAW_KEYS[1]))


def test_without_the_passphrase_the_last_up_s_outputs_tell_them_or_nobody_does() -> None:
    outputs = {"slurmKeyFingerprint": "SHA256:abc", "jwtKeyFingerprint": "not known: the Secret was made outside"}
    found = known(None, Values(form("all-outside"), ()), None, None, answering(outputs, decrypts=False))
    assert (found.slurm_key, found.jwt_key) == ("SHA256:abc", None)
    found = known(None, Values(form("all-in-kubernetes"), ()), None, None, answering({}))
    assert (found.slurm_key, found.jwt_key) == (None, None)


@pytest.mark.parametrize("name", ["all-outside", "controller-outside"])
def test_a_wrong_passphrase_is_never_taken_for_a_missing_key(tmp_path: Path, name: str) -> None:
    arguments = parsed("--stack", "prod", "--out", str(tmp_path / "out"))
    with pytest.raises(
        HandoffError, match=r"incorrect passphrase.*PULUMI_CONFIG_PASSPHRASE.*Nothing was written.*--config FILE"
    ):
        run(arguments, answering({}, decrypts=False, name=name))
    assert not (tmp_path / "out").exists()


def test_outputs_that_can_t_be_read_are_not_outputs_that_are_not_there(tmp_path: Path) -> None:
    answers = answering({})

    def broken(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, 1, "", "error: no backend") if words[0] == "stack" else answers(words)

    with pytest.raises(StateError, match="no backend"):
        run(parsed("--stack", "prod", "--out", str(tmp_path / "out")), broken)
    assert not (tmp_path / "out").exists()


def test_from_a_file_no_key_is_asked_for(tmp_path: Path) -> None:
    file = str(ROOT / "examples" / "Pulumi.all-outside.yaml")
    assert run(parsed("--config", file, "--out", str(tmp_path / "out"))) == 0
    assert "fingerprint not known yet" in (tmp_path / "out" / "README.md").read_text()


def test_a_second_run_into_the_same_folder_names_what_it_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = str(ROOT / "examples" / "Pulumi.all-outside.yaml"), tmp_path / "out"
    command = ["--config", file, "--out", str(out), "--role"]
    assert run(parsed(*command, "slurmdbd", "--role", "slurmd")) == 0
    assert "removed" not in capsys.readouterr().out
    assert run(parsed(*command, "slurmd")) == 0
    assert f"removed from {out}, of an earlier hand-off: slurmdbd/; with" in capsys.readouterr().out
    assert run(parsed(*command, "login", "--json")) == 0
    assert {each.split("/")[0] for each in json.loads(capsys.readouterr().out)["removed"]} == {"slurmd"}


@pytest.mark.parametrize(("given", "told"), [(None, "192.0.2.50"), ("192.0.2.60", "192.0.2.60")])
def test_slurmctld_s_address_is_the_one_given_else_its_load_balancer_s(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str | None, told: str
) -> None:
    config = form("all-in-kubernetes", controller={"service": {"type": "LoadBalancer"}})
    service = "/api/v1/namespaces/slurm/services/slurm-controller"
    with ApiServer() as api:
        api.objects[service] = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.50"}]}}}
        monkeypatch.setenv("KUBECONFIG", api.kubeconfig(tmp_path))
        assert known(None, Values(config, ()), given, None, answering({})).slurmctld_address == told
        assert api.asked == ([] if given else [service])
        of_a_cluster_ip = known(None, Values(form("all-in-kubernetes"), ()), None, None, answering({}))
    assert of_a_cluster_ip.slurmctld_address is None


def test_a_node_port_is_the_one_that_the_stack_s_file_names_else_the_service_s(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    service = "/api/v1/namespaces/slurm/services/slurm-controller"
    with ApiServer() as api:
        api.objects[service] = {"spec": {"ports": [{"port": 6817, "nodePort": 31234}]}}
        monkeypatch.setenv("KUBECONFIG", api.kubeconfig(tmp_path))

        def port(**service: object) -> int | None:
            config = form("all-in-kubernetes", controller={"service": service})
            return known(None, Values(config, ()), "192.0.2.9", None, answering({})).node_port

        assert port(type="NodePort", nodePort=30817) == 30817
        assert api.asked == []
        assert port(type="NodePort") == 31234
        assert port(type="LoadBalancer") is None
        assert api.asked == [service]


def test_a_kubernetes_that_does_not_answer_leaves_the_address_unknown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    config = form("all-in-kubernetes", controller={"service": {"type": "LoadBalancer"}})
    assert known(None, Values(config, ()), None, None, answering({})).slurmctld_address is None


def test_keys_in_secrets_that_can_t_be_read_stop_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    config = load(sections(ROOT / "examples/Pulumi.all-in-kubernetes.yaml"))
    with pytest.raises(HandoffError, match=r"--with-keys: the keys of this stack are in Kubernetes Secrets"):
        held_keys(Values(config, ()))


@pytest.mark.parametrize("with_keys", [False, True])
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("form_name", ["folder", "ansible", "cloud-init"])
def test_the_command_prints_no_key(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, with_keys: bool, as_json: bool, form_name: str
) -> None:
    flags = [*(["--with-keys"] if with_keys else []), *(["--json"] if as_json else [])]
    arguments = cli.parser().parse_args(["handoff", "--out", str(tmp_path / "out"), "--format", form_name, *flags])
    assert handoff_command.run(arguments, answering({})) == 0
    said = capsys.readouterr()
    assert [trace[:4] for trace in all_traces() if trace in said.out + said.err] == []
    texts = [path.read_bytes().decode("latin-1") for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any(trace in text for text in texts for trace in all_traces()) is with_keys
    if as_json:
        assert json.loads(said.out)["with_keys"] is with_keys


def test_an_address_that_is_none_is_refused_before_anything_is_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["handoff", "--out", str(tmp_path / "out"), "--slurmctld-address", "lb.example.org"]) == 1
    assert "is not an IP address" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_that_the_disk_refuses_is_told_with_what_to_think_of_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file" / "hand", Path("/proc/no-such-folder")):
        with pytest.raises(HandoffError, match=r"can't write .+ \(.+\)\. Nothing was written\. Name a folder"):
            write(out, FILES, with_keys=False)
