"""ServiceAccounts with what `slinky rights` prints: stacks of the tests go to Kubernetes as these.

`up`, `destroy`, `refresh`, `keys`, `status` and `drain cancel` of a stack run with the rights of `apply`; previews, `plan`,
`drift` and `drain status` with those of `review`; `preflight` with its own; each as an account of the stack's own. The lab's
administrator applies Roles when the settings name other objects than before. What the API server refused, or allowed, is
read from its audit log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from subprocess import CompletedProcess
from typing import Any, Final

import yaml

from lab import paths
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.kubernetes.render import AUDIT_LOG, AUDITED
from lab.stacks import Stack
from slinky_iac import names
from slinky_iac.cluster import pulumi_state
from slinky_iac.commands.rights.cli import Account, made_namespaces, printed
from slinky_iac.config.reading.load import load
from slinky_iac.config.stack import SECRET_KEYS, StackConfig
from slinky_iac.specs.rights import Right, Use

USES: Final[Mapping[tuple[str, ...], Use]] = {
    ("up",): Use.APPLY,
    ("destroy",): Use.APPLY,
    ("refresh",): Use.APPLY,
    ("keys",): Use.APPLY,
    ("status",): Use.APPLY,
    ("drain", "cancel"): Use.APPLY,
    ("preview",): Use.REVIEW,
    ("plan",): Use.REVIEW,
    ("drift",): Use.REVIEW,
    ("drain", "status"): Use.REVIEW,
    ("preflight",): Use.PREFLIGHT,
}
"""Commands of `pulumi` and of ours, by their first words, and what `rights` calls them."""
BEST_EFFORT: Final = {("", "events")}
"""Asked for by pulumi-kubernetes to explain a wait, and done without where it is refused."""
SIGNS: Final = ("-auth-jwths256", "-token-key")
"""Secrets that a review reads. It reads no key and no record of Helm's, so its previews don't know whose they are."""
PODS: Final = "--pod-namespace"
"""Argument of `preflight`; `rights` has the same."""
PREFIXES: Final = tuple(f"slinky-{use}-" for use in Use)
RBAC: Final = {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
LABEL: Final = "slinky-lab/made-for-roles"
"""Of a namespace that was made before the stack that takes it over."""
FOLDER: Final = paths.STATE / "accounts"
Kubectl = Callable[..., CompletedProcess[str]]
Event = dict[str, Any]
Used = set[tuple[str, str, str, str]]
"""API group, resource, verb, namespace."""


def is_granted(item: Mapping[str, Any]) -> bool:
    """Whether an object is an account or the rights of one: no stack has made it."""
    kind, meta = item["kind"], item["metadata"]
    if kind in RBAC:
        return str(meta["name"]).startswith(PREFIXES)
    return AUDITED in (meta.get("namespace"), meta["name"] if kind == "Namespace" else None)


def use_of(arguments: Sequence[str]) -> Use | None:
    """What a command is to `rights`; None for one that asks nothing of Kubernetes."""
    return next((use for words, use in USES.items() if tuple(arguments[: len(words)]) == words), None)


def settings_of(stack: Stack) -> StackConfig:
    """A stack's settings, from its file."""
    sections = {
        name.split(":", 1)[1]: value for name, value in yaml.safe_load(stack.config_file.read_text())["config"].items()
    }
    return load({name: value for name, value in sections.items() if name not in SECRET_KEYS})


class Accounts:
    """Accounts of one lab."""

    def __init__(self, kubectl: Kubectl) -> None:
        """``kubectl``: as the lab's administrator."""
        self._kubectl = kubectl
        self._granted: dict[tuple[str, Use], str] = {}
        self.watch()

    def environment(self, stack: Stack, arguments: Sequence[str]) -> dict[str, str]:
        """What makes a command run as the account that it needs, its rights granted. Nothing where the test has a kubeconfig
        of its own, or the settings can't be read: the command itself is to say so."""
        use = use_of(arguments)
        if use is None or stack.env["KUBECONFIG"] != str(paths.KUBECONFIG):
            return {}
        ends = arguments[0] == "destroy"
        pods = arguments[arguments.index(PODS) + 1] if PODS in arguments else None
        kubeconfig = self.grant(stack, use, make=not ends, pods=pods)
        if ends:
            self.forget()
        return {"KUBECONFIG": kubeconfig}

    def grant(self, stack: Stack, use: Use, *, make: bool = True, pods: str | None = None) -> str:
        """The kubeconfig of the account, with what `rights` prints for the stack as it is now. Nothing is applied where its
        settings name what they did before. ``make``: namespaces, where they aren't there. ``pods``: the namespace of
        preflight's pods."""
        config = settings_of(stack)
        account = Account(AUDITED, f"{stack.name}-{use}")
        file = FOLDER / f"{account.name}.kubeconfig"
        own = printed(config, use, account, pod_namespace=pods)
        if self._granted.get((stack.name, use)) == own:
            return str(file)
        for name in made_namespaces(config) if make else ():
            ours = {"name": name, "labels": {LABEL: "true"}, "annotations": {names.ANNOTATION_STACK: stack.name}}
            namespace = yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": ours})
            self._kubectl("create", "-f", "-", stdin=namespace, check=False)  # mostly it is there
        if pods is not None:
            beside = {"name": pods, "labels": {LABEL: "true"}}
            namespace = yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": beside})
            self._kubectl("create", "-f", "-", stdin=namespace, check=False)
        entries = pulumi_state.history(None, 100, lambda arguments: stack.pulumi(*_bare(arguments)))
        made = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AUDITED}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account.name, "namespace": AUDITED}},
        ]
        roles = list(yaml.safe_load_all(printed(config, use, account, entries, pod_namespace=pods)))
        if not make:
            there = self._kubectl("get", "namespaces", "-o", "jsonpath={.items[*].metadata.name}").stdout.split()
            roles = [each for each in roles if each["metadata"].get("namespace", "default") in there]
        manifests = yaml.safe_dump_all([*made, *roles])
        applied = self._kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifests, check=False)
        assert applied.returncode == 0, applied.stderr
        if not file.exists():
            self._write(account)
        self._granted[stack.name, use] = own
        return str(file)

    def forget(self) -> None:
        """Namespaces go, and Roles with them: what was granted has to be granted again."""
        self._granted.clear()

    def leave(self) -> None:
        """No stack is left: take away the namespaces that none has taken over."""
        self._kubectl("delete", "namespace", "-l", LABEL)
        self.forget()

    def _write(self, account: Account) -> None:
        token = self._kubectl("-n", AUDITED, "create", "token", account.name, "--duration=12h").stdout.strip()
        admin = yaml.safe_load(paths.KUBECONFIG.read_text())
        admin["users"] = [{"name": each["name"], "user": {"token": token}} for each in admin["users"]]
        FOLDER.mkdir(mode=0o700, exist_ok=True)
        (FOLDER / f"{account.name}.kubeconfig").write_text(yaml.safe_dump(admin))

    def watch(self) -> None:
        """What was refused before is not asked about."""
        self._seen = log_size()

    def refused(self) -> set[str]:
        """Every right that a request lacked since this was last asked."""
        begun, self._seen = self._seen, log_size()
        return refused(events(begun))

    def require_none_refused(self) -> None:
        """Fail with every right that a request lacked since this was last asked."""
        lacked = self.refused()
        assert not lacked, "the API server refused, so `rights` lacks:\n" + "\n".join(sorted(lacked))


def _bare(arguments: Iterable[str]) -> list[str]:
    return [each for each in arguments if each != "--non-interactive"]


def log_size() -> int:
    """Where the audit log ends now."""
    log = KUBERNETES.home.root / AUDIT_LOG
    return log.stat().st_size if log.exists() else 0


def events(begin: int = 0, account: str | None = None) -> list[Event]:
    """The audit log's lines from a place on; of one account, where it is named."""
    with (KUBERNETES.home.root / AUDIT_LOG).open("rb") as log:
        log.seek(begin)
        found: list[Event] = [json.loads(line) for line in log if line.endswith(b"\n")]
    user = f"system:serviceaccount:{AUDITED}:{account}"
    return [each for each in found if account is None or each["user"]["username"] == user]


def refused(found: Iterable[Event]) -> set[str]:
    """What was asked for and refused: who, and which right there isn't.

    A list that was allowed before is none: the engine goes on listing for a second or two when the namespace is gone, and
    its Roles with it.
    """
    lacked: set[str] = set()
    had: set[str] = set()
    for each in found:
        of = each.get("objectRef")
        if of is None:
            continue
        who, group = each["user"]["username"].rsplit(":", 1)[1], of.get("apiGroup", "")
        kind = f"{_resource(of)}.{group}" if group else _resource(of)
        text = f"{who}: {each['verb']} {kind} {of.get('namespace', '(cluster)')}/{of.get('name', '*')}"
        if each["annotations"]["authorization.k8s.io/decision"] != "forbid":
            had.add(text)
        elif (group, of["resource"]) in BEST_EFFORT or _done_without(each):
            continue
        elif each["verb"] not in ("list", "watch") or text not in had:
            lacked.add(text)
    return lacked


def _done_without(event: Event) -> bool:
    """Whether what was asked for is left out of `rights` on purpose, and done without: a preview's trial of a write, a
    Secret in a review, and a kubelet's configuration in a preflight (nodes/proxy runs commands in every pod)."""
    of, who = event["objectRef"], event["user"]["username"]
    if who.endswith(f"-{Use.PREFLIGHT}") and _resource(of) == "nodes/proxy":
        return True
    if "dryRun=All" in event["requestURI"]:
        return True
    looks = who.endswith(f"-{Use.REVIEW}") and event["verb"] in ("get", "list")
    return looks and of["resource"] == "secrets" and not of.get("name", "").endswith(SIGNS)


def used(found: Iterable[Event]) -> Used:
    """What was asked for and allowed."""
    rows: Used = set()
    for each in found:
        of = each.get("objectRef")
        if of is not None and each["annotations"]["authorization.k8s.io/decision"] == "allow":
            made = each["verb"] == "patch" and each["responseStatus"]["code"] == 201
            resource = _resource(of)
            namespace = "" if resource == "namespaces" else of.get("namespace", "")  # the log names the object there
            rows |= {(of.get("apiGroup", ""), resource, verb, namespace) for verb in {each["verb"], *(["create"] * made)}}
    return rows


def of_table(found: Iterable[Right]) -> Used:
    """What `rights` gives that an audit log can show."""
    return {
        (each.group, each.resource, verb, each.namespace or "") for each in found for verb in each.verbs if not each.seldom
    }


def _resource(of: Mapping[str, Any]) -> str:
    return "/".join(part for part in (of["resource"], of.get("subresource")) if part)
