"""Bad input on the real engine: a clear error, no traceback, no secret shown, and nothing lost."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.engine import REPO, Engine, Project, Tools, create_project
from tests.raw_keys import text_key
from tests.stacks import Data, merged, sections

KEYS = {"slurmKey": bytes(range(64)), "jwtKey": bytes(range(64, 128))}
SENTINEL = "tops3cretvalue"
OTHER_STACKS_OPERATOR = {"operator": {"install": False, "chart": None, "values": None, "protectCrds": None}}
NOWHERE = {"controller": {"external": {"host": "192.0.2.1", "port": 6817}}}
"""An address that no host has (RFC 5737)."""


def settings(over: Data | None = None) -> Data:
    """The lab's stack with the operator there already (its chart is not), and ``over``."""
    return merged(merged(sections(REPO / "Pulumi.dev.yaml"), OTHER_STACKS_OPERATOR), over or {})


def configure(project: Project, data: Data) -> None:
    """Write the stack's settings and keep what the engine has put there: salt and secrets."""
    file = project.folder / "Pulumi.test.yaml"
    kept = yaml.safe_load(file.read_text())
    secret = {k: v for k, v in kept.get("config", {}).items() if isinstance(v, dict) and "secure" in v}
    config = {f"slinky-iac:{name}": value for name, value in data.items()}
    file.write_text(yaml.safe_dump({**kept, "config": {**config, **secret}}))


@pytest.fixture(scope="module")
def first(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A stack of our program with both keys set."""
    root = tmp_path_factory.mktemp("first")
    project = create_project(Engine(tools, root / "engine"), root / "project", "slinky-iac")
    for name in ("__main__.py", "components", "slinky_iac"):
        (project.folder / name).symlink_to(REPO / name)
    configure(project, settings())
    for name, raw in KEYS.items():
        project.run("config", "set", "--secret", name, stdin=base64.b64encode(raw).decode())
    return project


@pytest.fixture
def stack(first: Project, engine: Engine, tmp_path: Path) -> Project:
    """The same, for one test."""
    return first.twin(engine, tmp_path / "project")


def refused(project: Project, *, env: dict[str, str] | None = None) -> str:
    """What a preview that must fail says, both streams."""
    done = project.preview(ok=False, env=env)
    said = done.stdout + done.stderr
    assert done.returncode != 0, said
    assert "Traceback" not in said
    assert SENTINEL not in said
    assert base64.b64encode(KEYS["slurmKey"]).decode() not in said
    return said


def test_all_faults_of_a_configuration_are_said_at_once_and_nothing_is_made(stack: Project) -> None:
    configure(stack, settings({"nodesets": {"gpu": {"replica": 1}, "GPU": {"replicas": 1}}, "keys": {"auth": "auth/rsa"}}))
    said = refused(stack)
    assert "the stack's configuration has 3 errors:" in said
    assert "create 1 error\n" in said, "the engine adds no error of its own"
    assert "nodesets.gpu.replica: is not a setting; did you mean replicas?" in said
    assert "nodesets.GPU: " in said
    assert "keys.auth: must be one of" in said
    assert [name for name in stack.resources() if not name.startswith("slinky-iac-")] == []


def test_what_people_may_not_do_on_the_cluster_is_said_with_its_path_and_nothing_is_made(stack: Project) -> None:
    """The list "Bad input" of users' jobs, tokens, clients and hubs."""
    hello = {"user": "alice", "command": ["hostname"], "workingDirectory": "/tmp"}
    hub = {"chart": {"version": "4.4.0"}, "image": "jupyter:1"}
    people = {
        "controller": {"external": None},
        "jobs": {
            "one": hello | {"user": "root"},
            "two": hello | {"user": "slurm"},
            "three": hello | {"partition": "nowhere"},
            "four": hello | {"partition": "short", "timeLimit": "2h"},
        },
        "partitions": {"short": {"nodesets": ["gpu"], "config": {"MaxTime": "01:00:00"}}},
        "tokens": {"ci": {"user": "root", "lifetime": "1h"}},
        "clients": {
            "own": {"namespace": "slurm", "people": {"alice": {"uid": 20001, "gid": 20001}}},
            "hub": {"namespace": "notebooks", "jupyterhub": hub},
        },
    }
    configure(stack, settings(people))
    said = refused(stack)
    for path, words in {
        "jobs.one.user": "root controls the cluster",
        "jobs.two.user": "slurm controls the cluster",
        "jobs.three.partition": "nowhere isn't a partition of this stack",
        "jobs.four.timeLimit": "120 minutes are more than MaxTime of partition short, 60 minutes",
        "tokens.ci.user": "root controls the cluster",
        "clients.own.namespace": "is the cluster's namespace too",
        "clients.hub.jupyterhub": "has no people",
    }.items():
        assert f"{path}: " in said, said
        assert words in said.partition(f"{path}: ")[2].partition("\n  ")[0], said
    script = {"user": "alice", "workingDirectory": "/tmp", "script": {"file": "no-such-file.sh"}}
    configure(stack, settings({"jobs": {"unread": script}}))
    assert "jobs.unread.script.file: " in refused(stack)
    assert [name for name in stack.resources() if not name.startswith("slinky-iac-")] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["slurmKey", SENTINEL], "slurmKey: is a secret in plain text"),
        (["--secret", "--path", "nodesets.gpu.env.TOKEN", SENTINEL], "nodesets: holds a secret"),
        (["--secret", "jwtKey", base64.b64encode(SENTINEL.encode()).decode()], "jwtKey: has 14 bytes; 32 to 65536"),
        (
            ["--secret", "jwtKey", base64.b64encode(text_key("k") + b"\n").decode()],
            "jwtKey: is text that ends with a line break",
        ),
    ],
    ids=["a key in plain text", "a secret in a section", "a short key", "a stray line break"],
)
def test_a_secret_that_is_wrong_or_in_the_wrong_place_is_refused_and_not_shown(
    stack: Project, arguments: list[str], said: str
) -> None:
    plain = [] if "--secret" in arguments else ["--plaintext"]
    stack.run("config", "set", *plain, *arguments)
    assert said in refused(stack)


def test_a_wrong_passphrase_is_told_and_the_right_one_works_afterwards(stack: Project) -> None:
    before = (stack.folder / "Pulumi.test.yaml").read_bytes()
    for command in (("preview",), ("up", "--yes"), ("destroy", "--yes")):
        done = stack.run(*command, ok=False, env={"PULUMI_CONFIG_PASSPHRASE": "not the one"})
        said = done.stdout + done.stderr
        assert done.returncode != 0
        assert "incorrect passphrase" in said
        assert "secrets manager" in said, "where it was asked for"
        assert "Traceback" not in said
        assert "not the one" not in said
    assert (stack.folder / "Pulumi.test.yaml").read_bytes() == before
    stack.preview()


def test_an_outside_daemon_that_does_not_answer_is_told_in_preview_and_stops_nothing(stack: Project) -> None:
    configure(stack, settings(NOWHERE))
    done = stack.preview()
    assert "controller.external: tried slurmctld at 192.0.2.1 port 6817 from here" in done.stdout + done.stderr


@pytest.mark.parametrize("kubeconfig", ["missing", "unreachable"])
def test_without_a_kubernetes_cluster_preview_says_so_and_up_stops_and_loses_nothing(
    stack: Project, kubeconfig: str
) -> None:
    absent = stack.folder / "absent"
    env: dict[str, Any] = {"KUBECONFIG": str(absent), "HOME": str(stack.folder)} if kubeconfig == "missing" else {}
    used = stack.engine.root / "kubeconfig"
    tried, words = {
        "missing": (f"no kubeconfig: tried {absent} (no such file)", "Set $KUBECONFIG, or the stack's"),
        "unreachable": (f"tried the API server at https://127.0.0.1:1 (kubeconfig {used}", "connection refused"),
    }[kubeconfig]
    done = stack.preview(env=env)
    said = " ".join((done.stdout + done.stderr).split())
    assert f"warning: kubernetes: {tried}" in said
    assert words in said
    if kubeconfig == "missing":
        assert "`pulumi up` will stop at the first resource" in said
    else:
        assert "Check that the API server runs there, and the port in the kubeconfig; or give another kubeconfig" in said
    done = stack.up(ok=False, env=env)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0
    assert "Traceback" not in said
    assert tried in said
    assert "json" not in said, "a path is not taken for the text of a kubeconfig"
    assert stack.state().get("pending_operations", []) == []
    assert stack.locks() == []
    stack.destroy()


def test_what_a_live_cluster_cannot_change_is_refused_in_preview(stack: Project) -> None:
    stack.up(ok=False)  # there is no Kubernetes cluster: the identity is made, nothing after it
    assert "cluster-identity" in stack.resources()
    configure(stack, settings({"cluster": {"name": "other", "namespace": "elsewhere"}}))
    said = refused(stack)
    assert "clusterName: can't change from 'lab' to 'other'" in said
    assert "the job queue and the accounts are gone" in " ".join(said.split())
    assert "Set it back" in said
    assert "namespace: can't change from 'slurm' to 'elsewhere'" in said
    configure(stack, settings())
    stack.preview()
