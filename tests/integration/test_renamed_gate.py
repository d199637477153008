"""The real engine, the real gate: its logical name (or its parent's type) changes, the NodeSet doesn't. The engine makes the
new one and deletes the old one last, which must leave the NodeSet that the new one owns; a removal still deletes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.engine import Project
from tests.integration.test_two_gates import GATES, write
from tests.integration.two_gates import PROPS, World, kubeconfig, served
from tests.stacks import ROOT


class Deletable(World):
    deleted: tuple[str, ...] = ()

    def nodeset(self, method: str, name: str, body: dict[str, Any]) -> httpx.Response:
        if method == "DELETE":
            self.deleted = (*self.deleted, name)
            self.pods[name] = []
        if name in self.deleted:
            gone = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}
            return httpx.Response(200 if method == "DELETE" else 404, json=gone)
        return super().nodeset(method, name, body)


@pytest.fixture
def world() -> Iterator[tuple[Deletable, str]]:
    now = Deletable()
    with served(now) as (_, url):
        yield now, url


def test_a_gate_under_another_name_keeps_its_nodeset(
    project: Project, world: tuple[Deletable, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, url = world
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    project.write(main=GATES.format(root=str(ROOT)))
    write(project, url, 2)
    file = Path(project.folder) / "gates.json"

    def programmed(*gates: str) -> None:
        named = {f"{gate}": found[gate[0]] | {"urn": f"urn:pulumi:test::p::NodeSetScale::{gate}"} for gate in gates}
        file.write_text(json.dumps(named))

    found = json.loads(file.read_text())
    programmed("a", "b")
    project.up()
    for name in ("a-0", "a-1"):
        now.end_job(name)
    programmed("a-renamed", "b")
    assert "hpc-worker-a stays: since this gate's last run another one owns it" in project.up().stdout
    assert now.deleted == ()
    programmed("b")
    project.up()
    assert now.deleted == ("a",), "removed from the program"


SESSIONS = f"""
    import json, sys
    from pathlib import Path
    sys.path.insert(0, {str(ROOT)!r})
    from pulumi.dynamic import Resource
    from slinky_iac.drain.gates import SessionsProvider

    class SessionsGate(Resource, module="slurm", name="SessionsGate"):
        def __init__(self, name, props):
            super().__init__(SessionsProvider(), name, props)

    for name, props in json.loads(Path("gates.json").read_text()).items():
        SessionsGate(name, props)
"""


class WithLogin(Deletable):
    """With a login set in which nobody works."""

    login = True

    def kubernetes(self, method: str, path: str, query: str, body: dict[str, Any]) -> httpx.Response | None:
        if "/loginsets/" not in path:
            return super().kubernetes(method, path, query, body) if "login" not in query else httpx.Response(200, json=NONE)
        found, self.login = self.login, self.login and method != "DELETE"
        meta = {"name": "x", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
        return httpx.Response(200, json={"metadata": meta}) if found else None


NONE = {"metadata": {}, "items": []}


def test_a_gate_of_sessions_under_another_name_keeps_its_login_set(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check of the one in the program, which comes before all deletions, claims the login set for this run."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    project.write(main=SESSIONS)
    folder, now = Path(project.folder), WithLogin()
    with served(now) as (_, url):

        def programmed(*gates: str) -> None:
            own = {"kind": "LoginSet", "resource": "x", "host": "logins.main", "interrupts": False}
            own |= {"podNamespace": "slurm", "podSelector": "app.kubernetes.io/name=login"}
            base = {**PROPS, **own, "kubeconfig": kubeconfig(folder, url), "url": url}
            named = {gate: base | {"urn": f"urn:pulumi:test::p::SessionsGate::{gate}"} for gate in gates}
            (folder / "gates.json").write_text(json.dumps(named))

        programmed("old")
        project.up()
        programmed("new")
        assert "LoginSet x stays: another gate of this program owns it" in project.up().stdout
        assert now.login
        programmed()
        project.up()
        assert not now.login, "removed from the program"
