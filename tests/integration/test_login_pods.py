"""The real engine and gate of login pods: the login set goes once no srun runs from them, and by no other gate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.engine import Project
from tests.integration.two_gates import PROPS, World, kubeconfig, served
from tests.made.rows import job
from tests.stacks import ROOT

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


class WithLogin(World):
    """With a login set of one pod, in which nobody works."""

    login = True

    def kubernetes(self, method: str, path: str, query: str, body: dict[str, Any]) -> httpx.Response | None:
        if path.endswith("/pods") and "login" in query:
            meta = self.meta("login-0", {})
            pod = {"metadata": meta, "spec": {"nodeName": "k-1"}, "status": {"phase": "Running"}}
            return httpx.Response(200, json={"metadata": {}, "items": [pod] if self.login else []})
        if "/loginsets/" not in path:
            return super().kubernetes(method, path, query, body)
        found, self.login = self.login, self.login and method != "DELETE"
        return httpx.Response(200, json={"metadata": self.meta("x", {})}) if found else None


def programmed(project: Project, url: str, *gates: str) -> None:
    """Write a program with these gates of the login set."""
    folder = Path(project.folder)
    own = {"kind": "LoginSet", "resource": "x", "host": "logins.main", "interrupts": False}
    own |= {"podNamespace": "slurm", "podSelector": "app.kubernetes.io/name=login"}
    base = {**PROPS, **own, "kubeconfig": kubeconfig(folder, url), "url": url, "policy": {"deadline_s": 1, "poll_s": 1}}
    named = {gate: base | {"urn": f"urn:pulumi:test::p::SessionsGate::{gate}"} for gate in gates}
    (folder / "gates.json").write_text(json.dumps(named))


@pytest.fixture
def login(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[WithLogin, str]]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    project.write(main=SESSIONS)
    with served(WithLogin()) as made:
        yield made


def test_a_gate_of_sessions_under_another_name_keeps_its_login_set(project: Project, login: tuple[WithLogin, str]) -> None:
    """The check of the one in the program, which comes before all deletions, claims the login set for this run."""
    now, url = login
    programmed(project, url, "old")
    project.up()
    programmed(project, url, "new")
    assert "LoginSet x stays: another gate of this program owns it" in project.up().stdout
    assert now.login
    programmed(project, url)
    project.up()
    assert not now.login, "removed from the program"


def test_a_removal_and_a_destroy_leave_a_login_pod_from_which_srun_runs(
    project: Project, login: tuple[WithLogin, str]
) -> None:
    now, url = login
    with now.lock:
        now.slurm.add(job(77, nodes="a-0", limit=9999, allocating_node="login-0", batch_flag=False))
    programmed(project, url, "gate")
    project.up()
    programmed(project, url)
    for command in (("up", "--yes", "--skip-preview"), ("destroy", "--yes", "--skip-preview", "--continue-on-error")):
        refused = project.engine.run(*command, cwd=project.folder, ok=False)
        assert "these would lose their srun or salloc" in refused.stdout
        assert "1 job (77 of alice)" in refused.stdout
        assert now.login
    with now.lock:
        del now.slurm.jobs[77]
    project.up()
    assert not now.login
