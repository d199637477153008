"""What the end-to-end tier reads from the audit log: a request that was refused is named with the right that lacks."""

from __future__ import annotations

from typing import Any

import pytest

from lab.kubernetes.render import AUDITED
from slinky_iac.specs.rights import Use
from tests.e2e.accounts import is_granted, refused, use_of, used


def event(
    verb: str, resource: str, name: str = "x", *, who: str = "s-apply", forbid: bool = True, **more: Any
) -> dict[str, Any]:
    """One line of the API server's audit log, at level Metadata."""
    of = {"resource": resource, "namespace": "slurm", "name": name, "apiVersion": "v1", **more}
    return {
        "verb": verb,
        "user": {"username": f"system:serviceaccount:{AUDITED}:{who}"},
        "requestURI": f"/api/v1/{resource}/{name}{more.pop('query', '')}",
        "objectRef": {key: value for key, value in of.items() if key != "query"},
        "responseStatus": {"code": 403 if forbid else 200},
        "annotations": {"authorization.k8s.io/decision": "forbid" if forbid else "allow"},
    }


def test_a_refusal_names_account_verb_kind_and_object() -> None:
    lacked = refused([event("delete", "nodesets", "slurm-worker-old", apiGroup="slinky.slurm.net")])
    assert lacked == {"s-apply: delete nodesets.slinky.slurm.net slurm/slurm-worker-old"}
    assert refused([event("get", "services", "rest:6820", subresource="proxy")]) == {
        "s-apply: get services/proxy slurm/rest:6820"
    }
    assert refused([event("delete", "nodesets", forbid=False), {**event("get", "x"), "objectRef": None}]) == set()


def test_a_list_that_was_allowed_before_its_namespace_went_lacks_no_right() -> None:
    """Seen once: pulumi-kubernetes lists Accountings for a second or two after it has removed the last one."""
    before, after = event("list", "accountings", forbid=False), event("list", "accountings")
    assert refused([before, after]) == set()
    assert refused([after, before]) == refused([after]) == {"s-apply: list accountings slurm/x"}
    assert refused([event("get", "accountings", forbid=False), event("get", "accountings")]) == {
        "s-apply: get accountings slurm/x"
    }


@pytest.mark.parametrize(
    ("done_without", "found"),
    [
        (True, event("list", "events")),
        (True, event("patch", "secrets", query="?dryRun=All", who="s-review")),
        (True, event("get", "secrets", "slurm-auth-slurm", who="s-review")),
        (False, event("get", "secrets", "slurm-auth-jwths256", who="s-review")),
        (False, event("get", "secrets", "slurm-token-key", who="s-review")),
        (False, event("get", "secrets", "slurm-auth-slurm", who="s-apply")),
        (False, event("patch", "secrets", who="s-review")),
    ],
)
def test_only_what_a_preview_is_not_to_have_is_done_without(done_without: bool, found: dict[str, Any]) -> None:
    assert (refused([found]) == set()) is done_without


def test_an_apply_that_made_its_object_has_used_create_too() -> None:
    made = event("patch", "secrets", forbid=False) | {"responseStatus": {"code": 201}}
    changed = event("patch", "secrets", forbid=False)
    assert used([changed]) == {("", "secrets", "patch", "slurm")}
    assert used([made]) == {("", "secrets", "patch", "slurm"), ("", "secrets", "create", "slurm")}
    assert used([event("get", "secrets")]) == set()


@pytest.mark.parametrize(
    ("words", "use"),
    [
        (("up", "--yes"), Use.APPLY),
        (("destroy",), Use.APPLY),
        (("refresh", "--preview-only"), Use.APPLY),
        (("preview", "--json"), Use.REVIEW),
        (("drain", "status"), Use.REVIEW),
        (("drain", "cancel"), Use.APPLY),
        (("stack", "export"), None),
        (("config", "set"), None),
    ],
)
def test_each_command_has_the_rights_that_rights_names_for_it(words: tuple[str, ...], use: Use | None) -> None:
    assert use_of(words) is use


def test_accounts_and_their_roles_are_told_from_what_a_stack_made() -> None:
    role = {"kind": "ClusterRole", "metadata": {"name": "slinky-apply-slurm-slurm"}}
    account = {"kind": "ServiceAccount", "metadata": {"name": "s-apply", "namespace": AUDITED}}
    assert is_granted(role)
    assert is_granted(account)
    assert is_granted({"kind": "Namespace", "metadata": {"name": AUDITED}})
    assert not is_granted({"kind": "Namespace", "metadata": {"name": "slurm"}})
    assert not is_granted({"kind": "ClusterRole", "metadata": {"name": "slurm-operator"}})
    assert not is_granted({"kind": "ConfigMap", "metadata": {"name": "slinky-apply-x", "namespace": "slurm"}})
