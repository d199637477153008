"""The check that a role runs on itself, on files of a made-up host: each finding as it is, and unknown never as fine."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from slinky_iac.commands.handoff.common import LIBRARY, functions_for
from slinky_iac.commands.handoff.common import words as script_words
from slinky_iac.keys.raw import fingerprint

KEY = b"k" * 64
SLURM_CONF = """\
# our cluster
ClusterName = atlas
AuthType=auth/slurm   # since 24.05
SlurmctldParameters=idle_on_node_suspend,Enable_Configless
MaxNodeCount=4096
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key
NodeName=metal-1 NodeAddr=192.0.2.1 CPUs=2 \\
  RealMemory=1000 State=UNKNOWN
include more.conf
"""
MORE_CONF = "NodeSet=gpu Feature=gpu\nPartitionName=gpu Nodes=gpu MaxTime=60\n"


@dataclass(frozen=True)
class Said:
    """What a script said, and its exit status."""

    status: int
    lines: list[str]


@dataclass(frozen=True)
class Tree:
    """A host's files."""

    root: Path

    def check(self, *call: str, missing: bool = False, path: str = "") -> Said:
        """Run one function of the library."""
        return self.checks(call, missing=missing, path=path)

    def checks(self, *calls: tuple[str, ...], missing: bool = False, path: str = "") -> Said:
        """Run functions of the library, one after the other."""
        words = "\n".join(map(script_words, calls))
        script = f'set -uf\n{functions_for(call[0] for call in calls)}\n{words}\nexit "$wrong"\n'
        done = subprocess.run(
            ["bash", "-s", "--", *(["--missing"] if missing else [])],
            input=script, env={"SLINKY_ROOT": str(self.root), "PATH": f"{path}:/usr/sbin:/usr/bin:/sbin:/bin"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stderr == ""
        return Said(done.returncode, done.stdout.splitlines())


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    etc = tmp_path / "etc" / "slurm"
    etc.mkdir(parents=True)
    (etc / "slurm.conf").write_text(SLURM_CONF)
    (etc / "more.conf").write_text(MORE_CONF)
    (etc / "slurm.key").write_bytes(KEY)
    (etc / "slurm.key").chmod(0o600)
    return Tree(tmp_path)


CONF = "/etc/slurm/slurm.conf"


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (("check_parameter", CONF, "ClusterName", "atlas"), "ok"),
        (("check_parameter", CONF, "ClusterName", "other"), "bad"),
        (("check_parameter", CONF, "AuthType", "auth/slurm"), "ok"),
        (("check_parameter", CONF, "CredType", "cred/slurm"), "missing"),
        (("check_parameter", CONF, "SlurmctldParameters", "enable_configless", "list"), "ok"),
        (("check_parameter", CONF, "SlurmctldParameters", "enable", "list"), "bad"),
        (("check_parameter", CONF, "MaxNodeCount", "1024", "least"), "ok"),
        (("check_parameter", CONF, "MaxNodeCount", "1024"), "bad"),
        (("check_parameter", CONF, "MaxNodeCount", "8192", "least"), "bad"),
        (("check_jwt_key", CONF, "/etc/slurm/jwt_hs256.key"), "ok"),
        (("check_jwt_key", CONF, "/elsewhere/jwt.key"), "ok"),
        (("check_line", CONF, "NodeName=metal-1 NodeAddr=192.0.2.1 CPUs=2 RealMemory=1000"), "ok"),
        (("check_line", CONF, "NodeName=metal-1 CPUs=4"), "bad"),
        (("check_line", CONF, "NodeName=metal-2"), "missing"),
        (("check_line", CONF, "NodeSet=gpu Feature=gpu"), "ok"),
        (("check_line", CONF, "PartitionName=gpu Nodes=gpu MaxTime=UNLIMITED"), "bad"),
        (("check_line", CONF, "PartitionName=gp Nodes=gpu"), "missing"),
        (("check_file", CONF), "ok"),
        (("check_file", "/etc/none"), "bad"),
        (("check_absent", CONF, "why"), "bad"),
        (("check_absent", "/etc/none", "why"), "ok"),
        (("check_running", "slurmd"), "unknown"),
        (("check_clock",), "unknown"),
        (("check_cgroup", "/etc/slurm/cgroup.conf"), "unknown"),
        (("check_unit", "slurmd", "/usr/sbin/slurmd"), "unknown"),
        (("check_version", "/usr/sbin/slurmd", "26.05"), "unknown"),
    ],
)
def test_a_finding_is_of_the_kind_that_holds(tree: Tree, call: tuple[str, ...], kind: str) -> None:
    said = tree.check(*call)
    assert [line.split()[0] for line in said.lines] == [kind]
    assert said.status == (1 if kind in {"bad", "missing"} else 0)


@pytest.mark.parametrize(
    ("line", "call", "kind"),
    [
        ("AuthAltTypes=munge,jwt", ("AuthAltTypes", "auth/jwt", "list"), "ok"),
        ("AuthAltTypes=auth/munge,auth/jwt", ("AuthAltTypes", "auth/jwt", "list"), "ok"),
        ("AuthAltTypes=munge", ("AuthAltTypes", "auth/jwt", "list"), "bad"),
        ("AuthType=slurm", ("AuthType", "auth/slurm"), "ok"),
        ("AuthType=munge", ("AuthType", "auth/slurm"), "bad"),
        ("CredType=auth/slurm", ("CredType", "cred/slurm"), "ok"),
        ("CredType=auth/munge", ("CredType", "cred/slurm"), "bad"),
        ("ClusterName=auth/atlas", ("ClusterName", "atlas"), "bad"),
    ],
)
def test_a_plugin_s_name_is_the_same_with_and_without_its_kind(
    tree: Tree, line: str, call: tuple[str, ...], kind: str
) -> None:
    """src/interfaces/auth.c and cred.c take the kind off a name, or add it."""
    (tree.root / "etc/slurm/slurm.conf").write_text(f"{line}\n")
    assert [each.split()[0] for each in tree.check("check_parameter", CONF, *call).lines] == [kind]


SAVING = "SuspendProgram=/opt/off\nResumeProgram=/opt/on\nSuspendTime=300\n"


@pytest.mark.parametrize(
    ("conf", "kind"),
    [
        (SAVING, "bad"),
        (SAVING + "SuspendExcStates=DOWN\n", "bad"),
        (SAVING + "SuspendExcParts=metal,gpus\n", "bad"),
        (SAVING + "SuspendExcStates=DOWN,dynamic_norm\n", "ok"),
        (SAVING + "SuspendExcParts=gpu,cpu\n", "ok"),
        (SAVING + "SuspendExcParts=gpu\n", "bad"),
        (SAVING + "SuspendExcParts=gpu\nSuspendExcNodes=cpu\n", "ok"),
        (SAVING.replace("300", "-1"), "ok"),
        (SAVING.replace("300", "INFINITE"), "ok"),
        ("ClusterName=atlas\n", "ok"),
    ],
)
def test_idle_pods_are_no_nodes_to_power_down(tree: Tree, conf: str, kind: str) -> None:
    (tree.root / "etc/slurm/slurm.conf").write_text(conf)
    said = tree.check("check_power_saving", CONF, "gpu", "cpu")
    assert [each.split()[0] for each in said.lines] == [kind]
    assert kind == "ok" or "SuspendExcStates=DYNAMIC_NORM" in said.lines[0]


CONTROLLERS = """\
SlurmctldHost=ctl-1(192.0.2.11)
slurmctldhost = ctl-2.example.org   # the backup
SlurmctldHost=localhost
"""


@pytest.mark.parametrize(
    ("hosts", "kind", "words"),
    [
        (("ctl-1", "ctl-2.example.org", "localhost"), "ok", "in their order"),
        (("192.0.2.11", "ctl-2.example.org", "127.0.0.1"), "ok", ""),
        (("ctl-1.example.org", "ctl-2.example.org", "localhost"), "ok", ""),
        (("ctl-2.example.org", "ctl-1", "localhost"), "bad", "number 1 is ctl-1(192.0.2.11), and the stack names ctl-2"),
        (("ctl-1", "192.0.2.99", "localhost"), "bad", "number 2 is ctl-2.example.org"),
        (("ctl-1", "ctl-2.example.org"), "bad", "has 3 SlurmctldHost lines"),
    ],
)
def test_hosts_of_slurmctld_are_compared_in_their_order(tree: Tree, hosts: tuple[str, ...], kind: str, words: str) -> None:
    (tree.root / "etc/slurm/slurm.conf").write_text(SLURM_CONF + CONTROLLERS)
    (line,) = tree.check("check_controllers", CONF, *hosts).lines
    assert line.split()[0] == kind
    assert words in line


def test_a_bad_finding_names_what_is_there_and_what_is_needed(tree: Tree) -> None:
    (line,) = tree.check("check_line", CONF, "PartitionName=gpu Nodes=gpu MaxTime=UNLIMITED").lines
    assert "MaxTime=60" in line
    assert line.endswith("the stack needs MaxTime=UNLIMITED")


@pytest.mark.parametrize(
    ("there", "kind"), [("localhost", "ok"), ("127.0.0.1", "ok"), ("192.0.2.9", "bad"), ("x.invalid", "bad")]
)
def test_a_host_under_its_other_name_is_the_same_host(tree: Tree, there: str, kind: str) -> None:
    (tree.root / "etc" / "slurm" / "slurm.conf").write_text(f"AccountingStorageHost={there}\n")
    said = tree.check("check_parameter", "/etc/slurm/slurm.conf", "AccountingStorageHost", "127.0.0.1")
    assert [line.split()[0] for line in said.lines] == [kind]
    assert ("or another name of this host" in said.lines[0]) is (kind == "bad")


@pytest.mark.parametrize(
    ("lines", "form", "kinds"),
    [
        ("Prolog=/opt/site/prolog.sh", "firm", ["bad"]),
        ("Prolog=/etc/slurm/more.conf", "firm", ["bad"]),
        ("Prolog=/opt/site/prolog.sh", "loose", ["unknown"]),
        ("epilog = prolog.d/*", "firm", ["bad"]),
        ('Prolog="more.conf"\nProlog=none.sh\nTaskProlog=more.conf', "firm", ["ok", "bad", "ok"]),
        ("none.sh=x\nTaskEpilog=none.sh", "loose", ["bad"]),
        ("PrologFlags=Alloc\nPrologSlurmctld=/opt/ctld.sh\nSrunProlog=/opt/srun.sh\nEpilogMsgTime=2", "firm", []),
        ("#Prolog=/opt/site/prolog.sh", "firm", []),
    ],
)
def test_a_script_that_pods_would_lack_is_not_fine(tree: Tree, lines: str, form: str, kinds: list[str]) -> None:
    """slurmctld sends those alone that are named without a folder (slurm.conf(5), enable_configless)."""
    (tree.root / "etc/slurm/slurm.conf").write_text(f"ClusterName=atlas\n{lines}\n")
    assert [line.split()[0] for line in tree.check("check_scripts", CONF, form).lines] == kinds
    assert tree.check("check_scripts", CONF, form, missing=True).lines == []


def test_with_missing_only_the_lines_to_add_are_printed(tree: Tree) -> None:
    line = "NodeName=metal-2 CPUs=2"
    assert tree.check("check_line", CONF, line, missing=True) == Said(1, [line])
    assert tree.check("check_line", CONF, "NodeSet=gpu Feature=gpu", missing=True) == Said(0, [])
    assert tree.check("check_parameter", CONF, "ClusterName", "other", missing=True) == Said(1, [])


@pytest.mark.parametrize("own", ["disable_token_creation", "jwks=/etc/slurm/own.json", '"max_token_lifespan=60"'])
def test_a_line_that_forbids_something_is_never_put_out_of_force_by_another(tree: Tree, own: str) -> None:
    """Of two AuthAltParameters lines Slurm takes the last."""
    (tree.root / "etc/slurm/slurm.conf").write_text(f"ClusterName=atlas\nauthaltparameters = {own}\n")
    call = ("check_jwt_key", CONF, "/etc/slurm/jwt_hs256.key")
    assert tree.check(*call, missing=True) == Said(1, [])
    (line,) = tree.check(*call).lines
    assert line.startswith("bad")
    assert "add ,jwt_key=/etc/slurm/jwt_hs256.key to it" in line


@pytest.mark.parametrize(("content", "kind"), [(KEY, "ok"), (b"another key", "bad"), (None, "bad")])
def test_the_jwt_key_that_is_compared_is_the_one_that_the_daemon_reads(tree: Tree, content: bytes | None, kind: str) -> None:
    """slurm.conf may name another place than the hand-off's; a key in the hand-off's then says nothing."""
    (tree.root / "etc/slurm/slurm.conf").write_text("AuthAltParameters=jwt_key=/var/spool/slurmctld/jwt.key,x=1\n")
    (tree.root / "etc/slurm/jwt_hs256.key").write_bytes(KEY if kind == "bad" else b"left from another time")
    (tree.root / "var/spool/slurmctld").mkdir(parents=True)
    if content is not None:
        (tree.root / "var/spool/slurmctld/jwt.key").write_bytes(content)
    lines = tree.check("check_jwt_file", CONF, "/etc/slurm/jwt_hs256.key", fingerprint(KEY), "slurm").lines
    assert [line.split()[0] for line in lines if "another key" in line or "cluster" in line] == [kind]
    assert all("/var/spool/slurmctld/jwt.key" in line for line in lines)


def test_no_line_is_printed_that_the_rest_of_the_file_makes_fatal(tree: Tree) -> None:
    (tree.root / "etc/slurm/slurm.conf").write_text("ClusterName=atlas\nSelectType = select/linear\n")
    call = ("check_parameter", CONF, "MaxNodeCount", "1024", "least")
    assert tree.check(*call, missing=True) == Said(1, [])
    (line,) = tree.check(*call).lines
    assert line.startswith("bad")
    assert "SelectType=select/linear" in line


def test_a_key_in_its_default_place_is_no_missing_key(tree: Tree) -> None:
    (tree.root / "etc/slurm/slurm.conf").write_text("ClusterName=atlas\nStateSaveLocation=/var/spool/slurmctld\n")
    call = ("check_jwt_key", CONF, "/etc/slurm/jwt_hs256.key")
    assert tree.check(*call, missing=True).lines == ["AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key"]
    (tree.root / "var/spool/slurmctld").mkdir(parents=True)
    (tree.root / "var/spool/slurmctld/jwt_hs256.key").write_bytes(KEY)
    assert tree.check(*call, missing=True) == Said(0, [])
    (line,) = tree.check(*call).lines
    assert line.startswith("unknown")
    assert "/var/spool/slurmctld/jwt_hs256.key" in line


@pytest.mark.parametrize(
    ("state", "kind"),
    [("IDLE", "ok"), ("MIXED+DRAIN", "ok"), ("FUTURE", "bad"), ("IDLE*", "bad"), ("DOWN", "bad"), ("", "bad")],
)
def test_a_node_that_never_registered_is_not_fine(tree: Tree, state: str, kind: str) -> None:
    tool = tree.root / "scontrol"
    tool.write_text(f"#!/bin/sh\necho 'NodeName=x Arch=x86_64'\necho '   State={state} ThreadsPerCore=1'\n")
    tool.chmod(0o755)
    assert [line.split()[0] for line in tree.check("check_registered", path=str(tree.root)).lines] == [kind]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ((), "ok"),
        (("--conf-server ctl:6817",), "ok"),
        (("--conf-server ctl:68",), "bad"),
        (("--conf-server old:6817",), "bad"),
    ],
)
def test_a_daemon_is_judged_by_the_words_that_it_runs_with(tmp_path: Path, words: tuple[str, ...], kind: str) -> None:
    """A unit that was placed since tells what would run, not what does."""
    daemon = tmp_path / f"d{os.getpid()}"  # a process is called after the file that it runs
    daemon.symlink_to("/bin/bash")
    script = f"set -uf\n{functions_for(['check_running'])}\n{script_words(('check_running', daemon.name, *words))}\n"
    argv = [str(daemon), "-c", "echo up; read -r", "--systemd", "--conf-server", "ctl:6817", "more"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        said = subprocess.run(["bash", "-s"], input=script, capture_output=True, text=True, check=True).stdout
        process.communicate("\n")
    assert said.split()[0] == kind, said


def test_the_last_line_counts_without_a_line_break_too(tree: Tree) -> None:
    (tree.root / "etc/slurm/slurm.conf").write_text(SLURM_CONF + "PartitionName=last Nodes=ALL")
    assert tree.check("check_line", CONF, "PartitionName=last Nodes=ALL").status == 0


def test_a_file_that_is_not_there_lacks_everything(tree: Tree) -> None:
    assert tree.check("check_parameter", "/etc/slurm/none.conf", "AuthType", "auth/slurm").lines[0].startswith("missing")


@pytest.mark.parametrize(
    ("mode", "content", "wanted", "kinds"),
    [
        (0o600, KEY, fingerprint(KEY), {"ok"}),
        (0o400, KEY, fingerprint(KEY), {"ok"}),
        (0o640, KEY, fingerprint(KEY), {"ok", "bad"}),
        (0o600, KEY + b"\n", fingerprint(KEY), {"ok", "bad"}),
        (0o600, KEY, "", {"ok", "unknown"}),
    ],
)
def test_a_key_is_judged_by_mode_and_fingerprint_and_never_shown(
    tree: Tree, mode: int, content: bytes, wanted: str, kinds: set[str]
) -> None:
    path = tree.root / "etc/slurm/slurm.key"
    path.write_bytes(content)
    path.chmod(mode)
    said = tree.check("check_key", "/etc/slurm/slurm.key", wanted)
    # Whose file it is depends on who runs the tests: root's is fine, another's is reported.
    judged = [line for line in said.lines if "belongs to" not in line]
    assert {line.split()[0] for line in judged} == kinds
    assert KEY.decode() not in "".join(said.lines)


@pytest.mark.parametrize(
    ("owner", "daemon", "kind"),
    [("slurm", "slurm", "ok"), ("root", "slurm", "bad"), ("root", "", "ok"), ("slurm", "", "ok"), ("eve", "", "bad")],
)
def test_a_key_of_root_is_fine_only_where_the_daemon_is_root_s_too(tree: Tree, owner: str, daemon: str, kind: str) -> None:
    tool = tree.root / "stat"
    tool.write_text(f'#!/bin/sh\n[ "$2" = %a ] && echo 600 || echo {owner}\n')
    tool.chmod(0o755)
    said = tree.check("check_key", "/etc/slurm/slurm.key", "", *([daemon] if daemon else []), path=str(tree.root))
    assert [line.split()[0] for line in said.lines if "belongs to" in line] == [kind]


def test_a_key_that_is_not_there_is_bad(tree: Tree) -> None:
    said = tree.check("check_key", "/etc/slurm/none.key", "")
    assert (said.status, len(said.lines)) == (1, 1)


def test_words_with_a_meaning_for_the_shell_stay_words(tree: Tree) -> None:
    said = tree.check("check_line", CONF, "PartitionName=x Nodes=gpu-[0-3] QOS=$(touch${IFS}pwned);*", missing=True)
    assert said.lines == ["PartitionName=x Nodes=gpu-[0-3] QOS=$(touch${IFS}pwned);*"]


def test_a_script_has_the_functions_that_it_needs_and_no_more() -> None:
    text = functions_for(["check_line"])
    for name in ("check_line()", "load_conf()", "conf_read()", "missing()", "tell()"):
        assert name in text
    assert "check_key()" not in text
    assert len(text) < len(LIBRARY.read_text()) / 2
