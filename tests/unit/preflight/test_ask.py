"""What is asked where, over real sockets: one world in which Kubernetes answers, one in which nothing does."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from slinky_iac.commands.preflight.ask import Scope, ask
from slinky_iac.config.reading.values import Values
from slinky_iac.keys.material import KeyMaterial
from slinky_iac.keys.raw import fingerprint
from tests.unit.preflight.made import stack

SLURM, JWT, OTHER = b"\x01 slurm.key of the stack \xff" * 2, b"\x02 jwt key of the stack \xfe" * 2, b"\x03 another \xfd" * 4


@dataclass
class Api:
    """An API server that has these answers by path; 404 for all else."""

    answers: dict[str, Any]
    asked: list[tuple[str, str]] = field(default_factory=list)
    kubeconfig: Path = Path()


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    state = Api({"/version": {"gitVersion": "v1.35.0"}}, kubeconfig=tmp_path / "kubeconfig")

    class Handler(BaseHTTPRequestHandler):
        def respond(self) -> None:
            path = self.path.partition("?")[0]
            state.asked.append((self.command, path))
            found = state.answers.get(path)
            body = json.dumps(found or {"kind": "Status", "message": "not here", "code": 404}).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = respond

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        body = {
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
            "users": [{"name": "u", "user": {"token": "a-secret-bearer-token"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        state.kubeconfig.write_text(yaml.safe_dump(body))
        yield state
        server.shutdown()


def secret(entry: str, raw: bytes) -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "data": {entry: base64.b64encode(raw).decode()}}


def values(**over: Any) -> Values:
    nowhere = {
        "controller": {"external": {"host": "127.0.0.1", "port": 1}},
        "accounting": {"enabled": False, "external": None},
    }
    return Values(stack(**{**nowhere, **over}), (), KeyMaterial({"slurmKey": SLURM, "jwtKey": JWT}))


NAMESPACE = "/api/v1/namespaces/slurm"
SECRETS = f"{NAMESPACE}/secrets"


def test_without_a_kubeconfig_only_connections_and_fingerprints_are_known(tmp_path: Path) -> None:
    facts = ask(values(), Scope(), env={"KUBECONFIG": str(tmp_path / "none")})
    assert "no kubeconfig" in facts.kube.trouble
    assert facts.pod.trouble == "the API server could not be asked"
    assert not facts.pod.skipped
    without = ask(values(), Scope(pod=False), env={"KUBECONFIG": str(tmp_path / "none")}).pod
    assert (without.trouble, without.skipped) == ("--no-pod was given", True), "nobody wanted a pod"
    assert facts.keys == {"slurm.key": fingerprint(SLURM), "JWT key": fingerprint(JWT)}
    assert [each.trouble for each in facts.here] == ["connection refused"]
    assert "no slurmrestd runs yet" in facts.slurm.trouble


def test_from_here_alone_nothing_but_the_api_servers_release_and_facts_about_it_is_asked(api: Api) -> None:
    facts = ask(values(), Scope(pod=False, daemons=False), env={"KUBECONFIG": str(api.kubeconfig)})
    assert (facts.kube.release, facts.kube.trouble, facts.pod.skipped) == ("v1.35.0", "", True)
    assert {method for method, _ in api.asked} == {"GET"}
    assert not [path for _, path in api.asked if "secrets" in path], "no key is looked at"


def test_before_the_first_up_what_is_not_there_is_not_there_and_no_trouble(api: Api) -> None:
    kube = ask(values(), Scope(pod=False), env={"KUBECONFIG": str(api.kubeconfig)}).kube
    assert (kube.namespace, kube.restapi, kube.restapi_pods) == (False, False, 0)
    assert (kube.keys, kube.keys_trouble, kube.workers) == ({}, {}, {})


def test_where_slurmctlds_pods_are_is_asked_where_an_outside_slurmdbd_can_have_another(api: Api) -> None:
    def seen(**over: Any) -> frozenset[str] | None:
        kept = {"controller": None, "accounting": {"enabled": True, "external": {"host": "127.0.0.1", "port": 1}}}
        return ask(values(**{**kept, **over}), Scope(pod=False), env={"KUBECONFIG": str(api.kubeconfig)}).kube.slurmctld

    assert seen() is None, "the list was refused"
    api.answers[f"{NAMESPACE}/pods"] = {"items": [], "metadata": {}}
    assert seen() == frozenset()
    meta = {"name": "slurm-controller-0", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-11-29T00:00:00Z"}
    status = {"phase": "Running", "podIP": "10.244.0.7", "hostIP": "10.0.0.20"}
    api.answers[f"{NAMESPACE}/pods"]["items"] = [{"metadata": meta, "spec": {}, "status": status}]
    assert seen() == {"10.244.0.7", "10.0.0.20"}
    assert seen(accounting={"enabled": False, "external": None}) is None, "slurmdbd isn't asked"


def test_keys_in_secrets_become_fingerprints_and_a_broken_one_a_reason(api: Api) -> None:
    api.answers[f"{SECRETS}/slurm-auth-slurm"] = secret("slurm.key", OTHER)
    api.answers[f"{SECRETS}/slurm-auth-jwths256"] = {"metadata": {}, "data": {"jwt_hs256.key": "not base64!"}}
    kube = ask(values(), Scope(pod=False), env={"KUBECONFIG": str(api.kubeconfig)}).kube
    assert kube.keys == {"slurm.key": fingerprint(OTHER)}
    assert list(kube.keys_trouble) == ["JWT key"]
    assert "base64" in kube.keys_trouble["JWT key"]


def test_a_slurmrestd_that_drains_need_is_missed_where_it_does_not_answer(api: Api) -> None:
    config = values(slurmrest={"url": "http://127.0.0.1:1"})
    facts = ask(config, Scope(pod=False), env={"KUBECONFIG": str(api.kubeconfig)})
    assert [*facts.slurm.unanswered] == ["http://127.0.0.1:1"]


def test_slurmrestds_pod_is_asked_through_the_api_server(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig))
    deployment = {"metadata": {"name": "d"}, "status": {"availableReplicas": 1}}
    api.answers["/apis/apps/v1/namespaces/slurm/deployments/slurm-restapi"] = deployment
    facts = ask(values(), Scope(pod=False), env={"KUBECONFIG": str(api.kubeconfig)})
    assert (facts.kube.restapi, facts.kube.restapi_pods) == (True, 1)
    proxied = [path for _, path in api.asked if path.startswith(f"{NAMESPACE}/services/slurm-restapi:6820/proxy/slurm/")]
    assert proxied


def test_no_key_is_in_the_facts_or_on_the_wire(api: Api) -> None:
    api.answers[f"{SECRETS}/slurm-auth-jwths256"] = secret("jwt_hs256.key", OTHER)
    shown = repr(ask(values(), Scope(), env={"KUBECONFIG": str(api.kubeconfig)}))
    for raw in (SLURM, JWT, OTHER):
        assert repr(raw)[2:-1] not in shown
        assert base64.b64encode(raw).decode() not in shown
