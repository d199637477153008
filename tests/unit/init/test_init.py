"""From what slurmctld's host says to a stack's file that fits; what doesn't fit is refused before anything is written; no
key is in any text."""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.commands.check import judge
from slinky_iac.commands.cli import main
from slinky_iac.commands.cli import parser as command_line
from slinky_iac.commands.init import cli
from slinky_iac.commands.init.stack import SCRIPT, Wanted, document, hints, read, refusals, sections
from slinky_iac.config.findings import Level
from slinky_iac.errors import ProjectError
from tests.unit.init.made import CONFIG, JWT, SLURM, answer, noted, wanted

PULUMI = """\
#!/bin/sh
printf '%s\\n' "$*" >> "$PULUMI_LOG"
case "$*" in *"config set"*) cat >> "$PULUMI_LOG.stdin"; echo >> "$PULUMI_LOG.stdin";; esac
exit ${PULUMI_CODE:-0}
"""
TRACES = [
    part for raw in (SLURM, JWT) for part in (base64.b64encode(raw).decode()[:24], base64.b64encode(raw).decode()[-24:])
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, the current one, and a `pulumi` that notes what it is asked."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: slinky-iac\nruntime: python\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "pulumi").write_text(PULUMI)
    (programs / "pulumi").chmod(0o755)
    (tmp_path / "answer").write_text(answer())
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("PULUMI_LOG", str(tmp_path / "log"))
    return folder


def via(folder: Path) -> list[str]:
    """Options by which the made-up answer comes from a host called ctl.example.org."""
    shell = f"sh -c 'cat > {folder.parent}/script; cat {folder.parent}/answer' {{host}}"
    return ["--slurmctld", "ctl.example.org", "--via", shell]


def written(folder: Path) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load((folder / "Pulumi.prod.yaml").read_text())["config"]
    return config


def test_a_stack_that_fits_is_written_and_its_keys_are_secrets(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "prod", *via(project), "--nodeset", "burst=2"]) == 0
    assert written(project) == {
        "slinky-iac:cluster": {"name": "atlas", "slurmVersion": "26.05", "maxNodeCount": 512},
        "slinky-iac:keys": {"source": "imported"},
        "slinky-iac:controller": {"external": {"host": "ctl.example.org", "port": 6817}},
        "slinky-iac:accounting": {"external": {"host": "10.99.0.12", "port": 6819}},
        "slinky-iac:nodesets": {"burst": {"replicas": 2}},
    }
    log = (project.parent / "log").read_text().splitlines()
    assert [line.split(" --non")[0] for line in log] == [
        "stack select --create",
        "config set --secret slinky-iac:slurmKey",
        "config set --secret slinky-iac:jwtKey",
    ]
    given = (project.parent / "log.stdin").read_text().split()
    assert [base64.b64decode(text) for text in given] == [SLURM, JWT]
    assert (project.parent / "script").read_text() == SCRIPT
    said = capsys.readouterr()
    assert "DECIDE" in (project / "Pulumi.prod.yaml").read_text()
    assert said.out.splitlines()[-1].startswith("next: edit the file (DECIDE, ")


def test_no_key_is_in_the_file_on_the_screen_or_in_an_argument(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["init", "prod", *via(project)])
    said = capsys.readouterr()
    texts = said.out + said.err + (project / "Pulumi.prod.yaml").read_text() + (project.parent / "log").read_text()
    assert [trace for trace in TRACES if trace in texts] == []
    assert "slurm_key" not in str(read(answer()))


def test_a_file_that_is_there_is_not_changed_without_force(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "Pulumi.prod.yaml").write_text("mine")
    assert main(["init", "prod", *via(project)]) == 1
    assert "exists already and was not changed" in capsys.readouterr().err
    assert (project / "Pulumi.prod.yaml").read_text() == "mine"
    assert not (project.parent / "script").exists(), "no host is asked in vain"


def test_force_keeps_the_encrypted_values_and_what_they_are_read_with(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {
        "encryptionsalt": "v1:salt",
        "config": {
            "slinky-iac:slurmKey": {"secure": "v1:a"},
            "slinky-iac:jwtKey": {"secure": "v1:b"},
            "slinky-iac:drain": {},
        },
    }
    (project / "Pulumi.prod.yaml").write_text(yaml.safe_dump(before))
    assert main(["init", "prod", "--force", *via(project)]) == 0
    after = yaml.safe_load((project / "Pulumi.prod.yaml").read_text())
    assert after["encryptionsalt"] == "v1:salt"
    assert after["config"]["slinky-iac:slurmKey"] == {"secure": "v1:a"}
    assert "slinky-iac:drain" not in after["config"]
    assert not (project.parent / "log").exists(), "no other key takes the place of one that may be in use"
    assert "its keys stay as they are" in capsys.readouterr().out


def test_without_a_terminal_and_without_flags_it_says_which_flags(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["init", "prod"]) == 1
    said = capsys.readouterr().err
    assert all(flag in said for flag in ("--slurmctld HOST", "--via 'ssh root@{host} sh -s'", "--show-config FILE"))
    assert list(project.glob("Pulumi.prod.yaml")) == []


def test_on_a_terminal_it_asks_for_what_was_left_out(project: Path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    answers = iter(["ctl.example.org", "", "gpu=3"])
    commands: list[Sequence[str]] = []

    def ssh(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0, answer(), "")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", Terminal())
        arguments = command_line().parse_args(["init", "prod"])
        assert cli.run(arguments, lambda _question: next(answers), ssh) == 0
    assert commands == [["ssh", "root@ctl.example.org", "sh", "-s"]]
    assert written(project)["slinky-iac:nodesets"] == {"gpu": {"replicas": 3}}


def test_an_input_that_ends_is_a_sentence(project: Path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def ended(_question: str) -> str:
        raise EOFError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", Terminal())
        with pytest.raises(ProjectError, match="the input ended before all was said"):
            cli.run(command_line().parse_args(["init", "prod"]), ended)
    assert not (project / "Pulumi.prod.yaml").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [("name: hpc\nruntime: python\n", "calls the project hpc"), (None, "has no Pulumi.yaml; begin with `slinky new")],
)
def test_secrets_never_go_to_another_project(
    text: str | None, said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "Pulumi.yaml").unlink()
    if text:
        (project / "Pulumi.yaml").write_text(text)
    assert main(["init", "prod", *via(project)]) == 1
    assert said in capsys.readouterr().err
    assert not (project.parent / "log").exists()


def test_no_file_is_written_for_a_program_that_has_the_settings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "Pulumi.yaml").write_text("name: platform\nruntime: python\n")
    (project / "__main__.py").write_text("import slinky_iac\n\nslinky_iac.HybridCluster('atlas')\n")
    assert main(["init", "prod", *via(project)]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "this project's settings are in its program (__main__.py)" in said
    assert "name: slinky-iac" not in said
    assert not (project / "Pulumi.prod.yaml").exists()


def test_the_output_of_scontrol_is_enough_for_a_file_and_keys_come_by_hand(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "conf.txt").write_text(CONFIG)
    assert main(["init", "prod", "--show-config", "conf.txt"]) == 0
    assert written(project)["slinky-iac:controller"] == {"external": {"host": "10.99.0.11", "port": 6817}}
    assert "slinky keys import slurm --file slurm.key" in capsys.readouterr().out
    assert not (project.parent / "log").exists()


@pytest.mark.parametrize("text", ["", "no configuration", "== config\n", "ClusterName = a\n"])
def test_what_is_no_output_of_scontrol_is_refused(text: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "conf.txt").write_text(text)
    assert main(["init", "prod", "--show-config", "conf.txt"]) == 1
    assert "that isn't the output of `scontrol show config`" in capsys.readouterr().err
    assert not (project / "Pulumi.prod.yaml").exists()


MISFITS = [
    (CONFIG.replace("auth/slurm", "auth/munge"), "AuthType is 'auth/munge'"),
    (CONFIG.replace("26.05.2", "24.11.5"), "Slurm is 24.11, and slurm-operator needs 25.11"),
    (CONFIG.replace("26.05.2", "master"), "Slurm is of an unknown release"),
    (
        CONFIG.replace("= auth/jwt", "= (null)").replace("/etc/slurm/jwt_hs256.key", "/var/spool/slurmctld/jwt.key"),
        "put it at the path that the line below names, set these lines in slurm.conf and slurmdbd.conf, with what"
        " slurmdbd.conf has there already, and restart both:\n      AuthAltTypes=auth/jwt\n"
        "      AuthAltParameters=jwt_key=/var/spool/slurmctld/jwt.key",
    ),
    (
        CONFIG.replace("= auth/jwt", "= (null)"),
        "AuthAltTypes=auth/jwt\n      AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key",
    ),
    (
        CONFIG.replace("jwt_key=/etc/slurm/jwt_hs256.key", "jwks=/etc/slurm/jwks.json,userclaimfield=x"),
        "AuthAltParameters=jwks=/etc/slurm/jwks.json,userclaimfield=x,jwt_key=/etc/slurm/jwt_hs256.key",
    ),
    (CONFIG + "SelectType = select/linear\n", "SelectType is select/linear"),
]


@pytest.mark.parametrize(("config", "said"), MISFITS, ids=[said[:24] for _, said in MISFITS])
def test_a_cluster_that_no_stack_fits_is_refused_with_what_to_change(
    config: str, said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.parent / "answer").write_text(answer(config))
    assert main(["init", "prod", *via(project)]) == 1
    assert said in capsys.readouterr().err
    assert not (project / "Pulumi.prod.yaml").exists()


def test_a_key_in_its_default_place_is_used_and_none_is_made(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = CONFIG.replace("jwt_key=/etc/slurm/jwt_hs256.key", "(null)") + "StateSaveLocation = /var/spool/slurmctld\n"
    (project.parent / "answer").write_text(answer(config))
    assert main(["init", "prod", *via(project)]) == 0
    said = capsys.readouterr().out
    assert "reads its JWT key from /var/spool/slurmctld/jwt_hs256.key, the default place" in said
    assert "keys generate" not in said


def test_a_key_in_another_place_is_named_until_the_hand_off(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The hand-off's line has a path of its own, and doesn't know the cluster's."""
    config = CONFIG.replace("/etc/slurm/jwt_hs256.key", "/var/spool/slurmctld/jwt.key")
    (note,) = (each for each in noted(answer(config)) if "jwt_key=" in each)
    assert note.startswith("slurmctld reads its JWT key from /var/spool/slurmctld/jwt.key: keep that path, and have it once")
    monkeypatch.setattr(sys, "stdin", io.StringIO(config))
    assert main(["init", "prod", "--show-config", "-"]) == 0
    said = capsys.readouterr().out
    assert "slurm.key from beside slurm.conf, jwt_hs256.key from /var/spool/slurmctld/jwt.key" in said


def test_a_cluster_whose_name_has_a_hyphen_is_written(project: Path) -> None:
    (project.parent / "answer").write_text(answer(CONFIG.replace("= atlas", "= ml-cluster")))
    assert main(["init", "prod", *via(project)]) == 0
    assert written(project)["slinky-iac:cluster"]["name"] == "ml-cluster"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("AuthInfo = cred_expire=60", "AuthInfo=cred_expire=60,use_client_ids"),
        (
            "SlurmctldHost[1] = ctl2(10.99.0.13)\nSlurmctldHost[2] = ctl3.example.org",
            "SlurmctldHost[1] is ctl2 (10.99.0.13), a backup: pods must reach it at 10.99.0.13; it needs the same keys",
        ),
        (
            "SlurmctldHost[1] = ctl2(10.99.0.13)\nSlurmctldHost[2] = ctl3.example.org",
            "SlurmctldHost[2] is ctl3.example.org, a backup: pods must reach it at ctl3.example.org; it",
        ),
        ("SlurmctldAddr = ctl.example.org", "controller.external.host"),
        ("AccountingStorageBackupHost = dbd2", "a backup slurmdbd"),
        ("TLSType = tls/s2n", "no plugin for it"),
        ("TLSType = tls/none", ""),
        ("SlurmctldAddr = (null)", ""),
    ],
)
def test_what_a_stack_has_to_follow_is_named(line: str, said: str) -> None:
    found = noted(answer(f"{CONFIG}{line}\n"))
    assert found == noted(answer()) if not said else any(said in each for each in found)


@pytest.mark.parametrize(
    ("lines", "backups"),
    [
        ("SlurmctldHost[1] = ctl2(10.99.0.13)\nSlurmctldHost[2] = ctl3.example.org", ["10.99.0.13", "ctl3.example.org"]),
        ("SlurmctldHost[1] = ctl2.example.org(10.99.0.13)", ["ctl2.example.org"]),
        ("SlurmctldHost[2] = ctl3", None),
    ],
)
def test_backups_of_slurmctld_are_written_in_their_order(lines: str, backups: list[str] | None) -> None:
    made = sections(read(f"{CONFIG}{lines}\n"), wanted())
    assert made["controller"]["external"].get("backups") == backups


@pytest.mark.parametrize(
    ("line", "host"),
    [
        ("ctl.example.org(ctl-ib)", "ctl.example.org"),
        ("CTL.Example.org(10.99.0.11)", "ctl.example.org"),
        ("CTL(10.99.0.11)", "10.99.0.11"),
    ],
)
def test_a_host_is_named_as_pods_can_reach_it(line: str, host: str) -> None:
    found = read(CONFIG.replace("ctl(10.99.0.11)", line))
    made = sections(found, Wanted(found.host, {"burst": 1}, {}))
    assert made["controller"] == {"external": {"host": host, "port": 6817}}


@pytest.mark.parametrize(("nodeset", "said"), [("all", "has a partition all"), ("metal", "has nodes named metal-…")])
def test_a_nodeset_never_takes_the_name_of_a_partition_or_of_nodes(nodeset: str, said: str) -> None:
    (found,) = refusals(read(answer()), wanted(nodesets={nodeset: 2}))
    assert said in found


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (answer(slurm=None), "can't read slurm.key"),
        (answer(jwt=None), "can't read /etc/slurm/jwt_hs256.key"),
        (answer(slurm=b"short"), "slurmKey: has 5 bytes"),
        (answer(slurm=JWT), "are the same key"),
    ],
    ids=["no slurm.key", "no JWT key", "short", "same"],
)
def test_keys_that_cannot_be_had_or_used_are_refused_before_anything_is_written(
    made: str, said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.parent / "answer").write_text(made)
    assert main(["init", "prod", *via(project)]) == 1
    shown = capsys.readouterr()
    assert said in shown.err
    assert [trace for trace in TRACES if trace in shown.err] == []
    assert not (project / "Pulumi.prod.yaml").exists()


def test_a_host_that_fails_is_quoted_and_nothing_is_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    failing = ["--slurmctld", "ctl", "--via", "sh -c 'echo Permission denied >&2; exit 255' {host}"]
    assert main(["init", "prod", *failing]) == 1
    said = capsys.readouterr().err
    assert "on ctl it ended with 255: Permission denied" in said
    assert main(["init", "prod", "--slurmctld", "ctl", "--via", "no-such-program {host}"]) == 1
    assert "isn't installed here, or isn't in PATH" in capsys.readouterr().err
    assert not (project / "Pulumi.prod.yaml").exists()


def test_pulumi_that_fails_leaves_the_file_and_says_what_to_run(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PULUMI_CODE", "255")
    assert main(["init", "prod", *via(project)]) == 1
    assert (project / "Pulumi.prod.yaml").exists()
    assert "`slinky init prod --force` again" in capsys.readouterr().err


def test_an_older_slurm_gets_images_of_its_release() -> None:
    found = read(answer(CONFIG.replace("26.05.2", "25.11.4")))
    images = sections(found, wanted())["cluster"]["images"]
    assert images["slurmd"] == "ghcr.io/slinkyproject/slurmd:25.11-ubuntu24.04"
    own = {"cluster": {"images": {"slurmd": "registry.example.org/slurmd:25.11"}}}
    assert sections(found, wanted(base=own))["cluster"]["images"]["slurmd"] == "registry.example.org/slurmd:25.11"


def test_a_base_gives_what_a_site_always_sets(project: Path) -> None:
    base = {"slinky-iac:operator": {"install": False}, "slinky-iac:nodesets": {"burst": {"resources": {"cpus": 4}}}}
    (project / "base.yaml").write_text(yaml.safe_dump({"config": base}))
    assert main(["init", "prod", *via(project), "--base", "base.yaml"]) == 0
    assert written(project)["slinky-iac:operator"] == {"install": False}
    assert written(project)["slinky-iac:nodesets"] == {"burst": {"replicas": 1, "resources": {"cpus": 4}}}


def test_a_cluster_without_slurmdbd_has_no_accounting() -> None:
    found = read(answer(CONFIG.replace("accounting_storage/slurmdbd", "(null)")))
    assert sections(found, wanted())["accounting"] == {"enabled": False}


def test_another_port_needs_an_address_since_the_operator_knows_one_port_by_name() -> None:
    found = read(answer(CONFIG.replace("= 6817", "= 6818-6820")))
    assert sections(found, wanted())["controller"]["external"] == {"host": "10.99.0.11", "port": 6818}


@pytest.mark.parametrize(
    ("config", "hint"),
    [
        (CONFIG.replace("slurm(401)", "slurm(64030)"), "SlurmUser slurm has uid 64030, and Slinky's images have 401"),
        (CONFIG.replace("= enable_configless", "= (null)"), "enable_configless"),
        (CONFIG.replace("= 512", "= (null)"), "MaxNodeCount"),
    ],
)
def test_what_the_file_cannot_say_is_a_note(config: str, hint: str) -> None:
    assert [hint in each for each in noted(answer(config)) if not each.startswith(TO_CHANGE) or "configless" in each] == [
        True
    ]
    assert noted(answer()) == []


def test_what_keeps_pods_out_is_a_warning_and_comes_before_the_notes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = CONFIG.replace("slurm(401)", "slurm(64030)").replace("= 512", "= 64")
    (project.parent / "answer").write_text(answer(config, nodes="-"))
    assert main(["init", "prod", *via(project), "--nodeset", "burst=1"]) == 0
    first, second = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("warning: ", "note: "))][:2]
    assert first.startswith("warning: SlurmUser slurm has uid 64030, and Slinky's images have 401: pods could not register")
    assert "if they and 1 pod are more than 64" in second


TO_CHANGE = "the hand-off will ask to change, in slurm.conf where no other file is named: "
CGROUP = "Cgroup Support Configuration:\nCgroupPlugin = autodetect\nIgnoreSystemd           = no\n"


@pytest.mark.parametrize(
    ("more", "changes"),
    [
        ("ReturnToService         = 1\n", "ReturnToService=2 (it is 1)"),
        ("ReturnToService = 1\n" + CGROUP, "ReturnToService=2 (it is 1); IgnoreSystemd=yes in cgroup.conf (it is no)"),
        ("CredType = cred/munge\n", "CredType=cred/slurm (it is cred/munge)"),
        ("SlurmctldParameters = idle_on_node_suspend\n", "SlurmctldParameters, add enable_configless"),
        ("SlurmctldParameters = (null)\n", "SlurmctldParameters=enable_configless (it has no value)"),
        ("MaxNodeCount = 1\n", "MaxNodeCount=1024 (it is 1)"),
        ("ReturnToService = 2\nCredType = cred/slurm\n" + CGROUP.replace("= no", "= yes"), ""),
        (CGROUP.replace("autodetect", "disabled"), ""),
    ],
)
def test_one_note_has_all_lines_that_the_hand_off_will_ask_to_change(more: str, changes: str) -> None:
    """Of two equal keys the last counts; a real output has each once."""
    said = [each.removeprefix(TO_CHANGE) for each in noted(answer(CONFIG + more)) if each.startswith(TO_CHANGE)]
    assert [each.startswith(changes) for each in said] == ([True] if changes else [])


@pytest.mark.parametrize(
    ("line", "warned"),
    [
        ("Prolog[0]               = /etc/slurm/prolog.sh", "Prolog[0]=/etc/slurm/prolog.sh: "),
        ("Prolog                  = /etc/slurm/prolog.sh", "Prolog=/etc/slurm/prolog.sh: "),
        ("Epilog[1]               = epilog.d/*", "Epilog[1]="),
        ("Epilog[0]               = /etc/slurm/epilog.d/*", "Epilog[0]=/etc/slurm/epilog.d/*: "),
        ("TaskProlog              = /opt/site/task.sh", "TaskProlog=/opt/site/task.sh: "),
        (
            "Prolog[0]               = /cm/local/apps/cmd/scripts/prolog-prejob",
            "Prolog[0]=/cm/local/apps/cmd/scripts/prolog-prejob: ",
        ),
        ("TaskEpilog              = /opt/site/task.sh", "TaskEpilog=/opt/site/task.sh: "),
        ("Prolog[0]               = prolog.sh", ""),
        ("TaskProlog              = (null)", ""),
        ("PrologSlurmctld[0]      = /opt/site/ctld.sh", ""),
        ("SrunProlog              = /opt/site/srun.sh", ""),
        ("PrologFlags             = Alloc,Contain", ""),
    ],
)
def test_a_script_of_nodes_that_slurmctld_does_not_send_is_a_note(line: str, warned: str) -> None:
    said = noted(answer(f"{CONFIG}{line}\n"))
    assert [each.startswith(warned) for each in said] == ([True] if warned else [])
    assert all("slinky docs outside-hosts 'Prolog and epilog'" in each for each in said)


METAL = " ".join(f"metal-{number}" for number in range(64))
"""A cluster's own nodes. Without MaxNodeCount slurmctld reports their number for it (read_config.c, read_slurm_conf)."""


@pytest.mark.parametrize(
    ("now", "nodes", "written", "said"),
    [
        (64, METAL, 1024, "64 other nodes and 4 pods of this stack"),
        (67, METAL, 1024, "set MaxNodeCount=1024 in slurm.conf"),
        (68, METAL, 68, ""),
        (3, "", 1024, "MaxNodeCount is 3"),
        (64, "-", 64, "which this output doesn't list"),
    ],
)
def test_max_node_count_has_room_for_the_clusters_own_nodes_and_the_pods(
    now: int, nodes: str, written: int, said: str
) -> None:
    told = answer(CONFIG.replace("= 512", f"= {now}"), nodes=nodes)
    found = read(told)
    settings = sections(found, wanted(nodesets={"burst": 4}))
    assert settings["cluster"]["maxNodeCount"] == written
    hinted = [each for each in hints(found, settings) if not each.startswith(TO_CHANGE)]
    assert [said in each for each in hinted] == ([True] if said else [])
    errors = [p for p in judge(document(settings, "a test", {}))[1] if p.finding.level is Level.ERROR]
    assert errors == []


def test_pods_of_every_nodeset_of_the_base_count() -> None:
    base = {"nodesets": {"gpu": {"replicas": 5}, "big": {"owner": "autoscaler", "replicas": 1, "maxReplicas": 2000}}}
    found = read(answer(nodes=METAL))
    assert sections(found, wanted(nodesets={"burst": 4}, base=base))["cluster"]["maxNodeCount"] == 64 + 4 + 5 + 2000


def test_network_policies_are_on_once_what_is_missing_is_filled_in(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "prod", *via(project)]) == 0
    assert "note: networkPolicies are off: the file says what they need" in capsys.readouterr().out
    text = (project / "Pulumi.prod.yaml").read_text()
    before, mark, after = text.partition("  # slinky-iac:external:")
    policies, decide, nodesets = after.partition("  # DECIDE: how many")
    after = decide + nodesets
    filled = (mark + policies).replace("  # ", "  ").replace("{cidr: …}", "{cidr: 192.0.2.64/29}")
    filled = filled.replace("loginHosts: [{name: …, address: …}]", "loginHosts: [{name: login-1, address: 192.0.2.3}]")
    filled = filled.replace("slurmdHosts: [{name: …, address: …}]", "slurmdHosts: [{name: metal-1, address: 192.0.2.4}]")
    config, places = judge(before + filled + after)
    assert [str(each.finding) for each in places if each.finding.level is Level.ERROR] == []
    assert config is not None
    assert config.network_policies.enabled
    assert config.network_policies.addresses == {"ctl.example.org": ("10.99.0.11/32",)}


def test_network_policies_of_the_site_are_the_stacks(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policies = {"enabled": True, "apiServer": [{"cidr": "192.0.2.64/29"}], "addresses": {"ctl.example.org": ["10.99.0.11"]}}
    (project / "base.yaml").write_text(yaml.safe_dump({"config": {"slinky-iac:networkPolicies": policies}}))
    assert main(["init", "prod", *via(project), "--base", "base.yaml"]) == 0
    assert written(project)["slinky-iac:networkPolicies"] == policies
    assert "networkPolicies" not in capsys.readouterr().out


@given(name=st.text(max_size=20), value=st.text(max_size=40))
def test_any_configuration_is_read_or_refused_and_a_file_that_is_written_is_sound(name: str, value: str) -> None:
    text = CONFIG + f"{name} = {value}\nClusterName = {value}\n"
    try:
        found = read(answer(text))
    except ProjectError:
        return
    errors = [p for p in judge(document(sections(found, wanted()), "a test", {}))[1] if p.finding.level is Level.ERROR]
    assert not errors or not found.name.isalnum() or not found.name.isascii() or len(found.name) > 40, json.dumps(value)


def test_replicas_without_a_name_are_wrong_arguments() -> None:
    for text in ("burst", "burst=", "=1", "Burst=1", "burst_1=4", "burst=-1"):
        with pytest.raises(argparse.ArgumentTypeError, match="NAME has small letters, digits and '-' alone"):
            cli._nodeset(text)


def test_a_uid_of_thousands_of_digits_is_none() -> None:
    assert read(answer(CONFIG.replace("slurm(401)", f"slurm({'9' * 5000})"))).uid is None


def test_every_nodeset_that_is_given_is_in_the_file(project: Path) -> None:
    assert main(["init", "prod", *via(project), "--nodeset", "cpu=4", "--nodeset", "fat=2"]) == 0
    assert written(project)["slinky-iac:nodesets"] == {"cpu": {"replicas": 4}, "fat": {"replicas": 2}}


def test_a_nodeset_that_is_given_twice_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "prod", *via(project), "--nodeset", "cpu=4", "--nodeset", "cpu=2"]) == 1
    assert "--nodeset cpu: is there twice" in capsys.readouterr().err
    assert not (project / "Pulumi.prod.yaml").exists()


def test_no_comment_follows_the_last_setting_into_which_pulumi_would_move_it(project: Path) -> None:
    assert main(["init", "prod", *via(project), "--nodeset", "cpu=4"]) == 0
    lines = (project / "Pulumi.prod.yaml").read_text().splitlines()
    assert lines[-1] == "      replicas: 4"
    policies = next(number for number, line in enumerate(lines) if "networkPolicies keep" in line)
    assert policies < lines.index("  slinky-iac:nodesets:")


def test_the_comment_says_how_many_nodes_slurmctld_had(project: Path) -> None:
    assert main(["init", "prod", *via(project), "--nodeset", "cpu=4"]) == 0
    count = len(read(answer()).nodes or ())
    assert f"slurmctld had {count} nodes of its own when" in (project / "Pulumi.prod.yaml").read_text()


def test_a_file_of_scontrol_s_output_that_is_not_there_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "prod", "--show-config", "nowhere"]) == 1
    assert "name a file with the output of `scontrol show config`" in capsys.readouterr().err
    assert not (project / "Pulumi.prod.yaml").exists()
