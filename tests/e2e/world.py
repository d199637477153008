"""The lab as the tests use it: stacks in folders of their own, kubectl, and the knobs of the environment."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from lab import charts, engine, given_operator, images, obtain, paths
from lab.kubernetes import layout
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.stacks import Stack, imported_keys
from slinky_iac.names import ANNOTATION_PERMIT, PERMIT_DELETE
from tests.e2e.accounts import Accounts, is_granted
from tests.e2e.slurm import await_true

PASSING = {"Event", "ComponentStatus"}
"""Kinds that a snapshot leaves out: they come and go by themselves."""
HEARTBEATS = "kube-node-lease"
"""A namespace that a snapshot leaves out: kubelets make their leases there some time after a lab is up."""
OPERATOR_STANDS_S = 420
"""slurm-operator counts pods to make before it uncordons those that stay. Where one of these has just gone, it gives up
there, and makes no pod until the count is five minutes old (``manageReplicas`` of 1.2.1 and 1.3.0-rc1; watched on 1.2.1)."""
Settings = dict[str, Any]
"""The ``config`` mapping of a Pulumi.<stack>.yaml."""


def lab_environment() -> dict[str, str]:
    """What `lab env` exports, for commands that a test runs itself."""
    pulumi = obtain.ensure(say=lambda _line: None)["pulumi"]
    return engine.environment(pulumi, os.environ["PATH"])


class World:
    """One lab."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env
        self.accounts: Accounts | None = None
        self.applied: dict[str, Settings] = {}
        """Settings that a stack was brought up with, by its name, as long as no others were written."""
        self._accounts = Accounts(self.kubectl)
        self._given: dict[Path, tuple[dict[str, bytes], Settings]] = {}

    def run_with_rights(self, *, least: bool) -> None:
        """``least``: stacks that are named from now on go to Kubernetes with the rights that they need and no more, else as
        the lab's administrator, as they do at first."""
        self._accounts.watch()
        self.accounts = self._accounts if least else None

    def require_up(self) -> None:
        """Fail with the way out where the lab isn't up."""
        ready = self.kubectl("get", "--raw", "/readyz", check=False)
        assert ready.returncode == 0, f"the lab is not up: run ./lab/lab up. {ready.stderr}"

    def kubectl(self, *arguments: str, check: bool = True, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run kubectl against the lab."""
        env = {**os.environ, **self.env}
        return subprocess.run(
            ["kubectl", *arguments], env=env, input=stdin, capture_output=True, text=True, check=check, timeout=120
        )

    def objects(self, kind: str, namespace: str) -> list[dict[str, Any]]:
        """All objects of a kind in a namespace."""
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", kind, "-n", namespace, "-o", "json").stdout)["items"]
        return found

    def pods(self, namespace: str, nodeset: str) -> dict[str, dict[str, Any]]:
        """Pods of a NodeSet by their Slurm node name (``spec.hostname``), terminating ones excepted."""
        resource = f"slurm-worker-{nodeset}"
        return {
            pod["spec"]["hostname"]: pod
            for pod in self.objects("pods", namespace)
            if pod["metadata"]["labels"].get("app.kubernetes.io/instance") == resource
            and "deletionTimestamp" not in pod["metadata"]
        }

    def everything(self) -> list[dict[str, Any]]:
        """Every object that the API server lists, of every kind but those in PASSING, and but accounts and their Roles."""
        kinds = self.kubectl("api-resources", "--verbs=list", "-o", "name").stdout.split()
        asked = ",".join(kind for kind in kinds if kind not in ("events", "events.events.k8s.io", "componentstatuses"))
        items: list[dict[str, Any]] = json.loads(self.kubectl("get", asked, "-A", "-o", "json").stdout)["items"]
        found = [item for item in items if item["kind"] not in PASSING and not is_granted(item)]
        return [item for item in found if item["metadata"].get("namespace") != HEARTBEATS]

    def identities(self) -> set[str]:
        """Of every object: two of these sets are compared before and after a stack's life."""
        return {identity(item) for item in self.everything()}

    def take_the_fence_away(self) -> None:
        """What docs/fence.md says for an emergency: nothing is refused from then on, until a refresh makes it again."""
        self.kubectl("delete", "validatingadmissionpolicybinding", "--all")
        tried = ("delete", "nodesets.slinky.slurm.net,restapis.slinky.slurm.net", "--all", "-A", "--dry-run=server")
        await_true("the API server refuses nothing any more", lambda: not self.kubectl(*tried, check=False).returncode, 30)

    def delete_worker(self, namespace: str, name: str, *more: str) -> None:
        """Delete a worker pod, drained or not, by the way that the fence names for it; one that is gone is as good.

        The operator may replace the pod between the two commands: the new one doesn't have the word of the old one.
        """
        kind = ("pod", "-n", namespace, name)

        def deleted() -> bool:
            self.kubectl("annotate", *kind, "--overwrite", f"{ANNOTATION_PERMIT}={PERMIT_DELETE}", check=False)
            return not self.kubectl("delete", *kind, "--ignore-not-found", *more, check=False).returncode

        await_true(f"{name} may go", deleted, 30)

    def stacks(self) -> list[Stack]:
        """Stacks of the lab's backend that have resources."""
        done = subprocess.run(
            ["pulumi", "stack", "ls", "--all", "--json", "--non-interactive"],
            env={**os.environ, **self.env}, cwd=paths.REPO, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        names = [row["name"].rsplit("/", 1)[-1] for row in json.loads(done.stdout) if row.get("resourceCount")]
        return [self.named(name) for name in names]

    def named(self, name: str, folder: Path | None = None) -> Stack:
        """The stack of that name."""
        account = self.accounts.environment if self.accounts else None
        return Stack(name, folder or paths.STATE / "projects" / name, self.env, account)

    def vacate(self, keep: str | None = None) -> None:
        """Destroy every stack of the lab but this one: the operator's releases exist once, and so do names of nodes."""
        found = self.stacks()
        for stack in found:
            if stack.name != keep:
                self.applied.pop(stack.name, None)
                self._accounts.forget()
                stack.pulumi("state", "unprotect", "--all", "--yes")
                stack.destroy()
        if self.accounts and all(stack.name != keep for stack in found):
            self.accounts.leave()

    def restart_operator(self) -> None:
        """A new pod of slurm-operator, up."""
        deployment = ("deployment", "-n", "slinky", "slurm-operator")
        self.kubectl("rollout", "restart", *deployment)
        self.kubectl("rollout", "status", *deployment, "--timeout=120s")

    def await_pods(self, namespace: str, nodeset: str, count: int, timeout: float = OPERATOR_STANDS_S) -> None:
        """Wait until a NodeSet has exactly so many pods, all ready."""

        def there() -> bool:
            found = [ready(pod) for pod in self.pods(namespace, nodeset).values()]
            return len(found) == count and all(found)

        await_true(f"{count} pods of {nodeset} are ready", there, timeout)

    def second_tag(self, image: str, tag: str) -> str:
        """Give an image another tag in every node's store; returns the new name."""
        name = f"{image.rsplit(':', 1)[0]}:{tag}"
        for node in layout.NODES:
            ctr = ["ctr", "--address", str(KUBERNETES.home.socket(node)), "--namespace", images.NAMESPACE, "images"]
            tagged = [*ctr, "tag", "--force", f"docker.io/{image}", f"docker.io/{name}"]
            subprocess.run(tagged, capture_output=True, check=True)
        return name

    def stack(self, name: str, settings: Settings, folder: Path | None = None) -> Stack:
        """A stack with these settings and the outside hosts' keys; an existing one of the name is taken up again."""
        self.applied.pop(name, None)
        stack = self.named(name, folder)
        secrets = imported_keys() if settings["slinky-iac:keys"]["source"] == "imported" else {}
        if self._given.get(stack.config_file) == (secrets, encrypted(stack)):
            _rewrite(stack, settings)
            return stack
        draft = paths.STATE / "projects" / f"{name}.draft.yaml"
        draft.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(yaml.safe_dump({"config": settings}))
        stack.init(draft, charts.chart_dir(), secrets)
        self._given[stack.config_file] = (secrets, encrypted(stack))
        return stack


def encrypted(stack: Stack) -> Settings:
    """Encrypted values of a stack's settings, by name; empty where it has no settings yet."""
    if not stack.config_file.exists():
        return {}
    config: Settings = yaml.safe_load(stack.config_file.read_text()).get("config", {})
    return {name: value for name, value in config.items() if isinstance(value, dict) and value.keys() == {"secure"}}


def _rewrite(stack: Stack, settings: Settings) -> None:
    """Other settings for a stack that this process has made: secrets and salt stay, without three calls of pulumi."""
    document = yaml.safe_load(stack.config_file.read_text())
    stack.config_file.write_text(yaml.safe_dump({**document, "config": {**settings, **encrypted(stack)}}))


def identity(item: dict[str, Any]) -> str:
    """`KIND NAMESPACE/NAME` of an object."""
    return f"{item['kind']} {item['metadata'].get('namespace', '')}/{item['metadata']['name']}"


def ready(pod: dict[str, Any]) -> bool:
    """Whether a pod's Ready condition holds."""
    conditions = pod["status"].get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def dev_settings(*edits: Callable[[Settings], None]) -> Settings:
    """Settings of Pulumi.dev.yaml, edited."""
    settings: Settings = yaml.safe_load(given_operator.dev_settings())["config"]
    for edit in edits:
        edit(settings)
    return settings


def steps(preview: subprocess.CompletedProcess[str]) -> list[tuple[str, str]]:
    """Operation and logical name of every step of `preview --json`, without those that change nothing."""
    report = json.loads(preview.stdout)
    return [(step["op"], step["urn"].rsplit("::", 1)[1]) for step in report["steps"] if step["op"] != "same"]


def gate_plan(preview: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The plan of the one NodeSet's gate in a `preview --json`."""
    rows = json.loads(preview.stdout)["steps"]
    (found,) = [step["newState"]["inputs"]["plan"] for step in rows if step["urn"].endswith("-scale")]
    return dict(found)


def names(rows: Iterable[tuple[str, str]]) -> set[str]:
    """Logical names of steps."""
    return {name for _, name in rows}
