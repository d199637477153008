"""A real JupyterHub in the lab, with the values of examples/jupyter/jupyterhub-values.yaml; and people who use it.

The hub and its proxy are a pod and a Service each, as the chart zero-to-jupyterhub makes them; the hub may do what the chart
lets it, except read Secrets. Its settings are made of the values by lab/hub_config.py.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx
import yaml

from lab import hub_chart
from lab.slurm import jupyter, needs
from tests.e2e.slurm import await_true
from tests.e2e.world import World, ready
from tests.faults.munge_site import EXAMPLE, NAMESPACE
from tests.faults.websocket import WebSocket

NODE = hub_chart.NODE
HOME = hub_chart.HOME
NUMBERS = {"alice": 20001, "bob": 2002}
"""The uid and gid of each person on the munge cluster: the hub's directory."""
STRANGE = {"slurm": needs.SLURM_UID}
"""A name that the hub lets in, and a number that no notebook may have."""


def merged(under: Any, over: Any) -> Any:
    """What Helm makes of two values files: mappings are merged, anything else is the second's."""
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        return {name: merged(under.get(name), over.get(name, under.get(name))) for name in {**under, **over}}
    return over


def values(password: str) -> dict[str, Any]:
    """The example's values, and what is this lab's: its image, a home, and who may come with which password.

    The lab has no storage class, so that homes are folders of the pods' own.
    """
    example: dict[str, Any] = yaml.safe_load((EXAMPLE / "jupyterhub-values.yaml").read_text())
    user = example["singleuser"]
    assert f"alice:x:{NUMBERS['alice']}:{NUMBERS['alice']}:" in example["hub"]["extraFiles"]["people"]["stringData"]
    people = {"root": 0, "jovyan": 1000, **STRANGE, **NUMBERS}
    passwd = "".join(f"{name}:x:{number}:{number}::{HOME}:/bin/bash\n" for name, number in people.items())
    directory = {"extraFiles": {"people": {"stringData": passwd}}}
    for container in user["initContainers"]:
        container["image"] = jupyter.NAME
    name, _, tag = jupyter.NAME.rpartition(":")
    config = {
        "JupyterHub": {"authenticator_class": "dummy", "admin_access": False},
        "DummyAuthenticator": {"password": password},
        "Authenticator": {"allowed_users": [*NUMBERS, *STRANGE]},
        "KubeSpawner": {"notebook_dir": HOME},  # a real notebook's image begins there
    }
    ours = {
        **directory,
        "image": {"name": name, "tag": tag},
        "nodeSelector": {"kubernetes.io/hostname": NODE.name},
        "extraEnv": {"HOME": HOME},
        "storage": {
            "extraVolumes": [*user["storage"]["extraVolumes"], {"name": "home", "emptyDir": {}}],
            "extraVolumeMounts": [*user["storage"]["extraVolumeMounts"], {"name": "home", "mountPath": HOME}],
        },
    }
    found: dict[str, Any] = merged(example, {"hub": {"config": config, **directory}, "singleuser": ours})
    return found


def objects(password: str, token: str) -> list[dict[str, Any]]:
    """The hub and its proxy. ``token`` is theirs alone."""
    given = values(password)
    extra = {part: {key: file["stringData"] for key, file in given[part]["extraFiles"].items()} for part in given}
    files = {"values.yaml": json.dumps(given), "jupyterhub_config.py": hub_chart.CONFIG.read_text(), **extra["hub"]}
    mounts = [
        {"name": "files", "mountPath": file["mountPath"], "subPath": key} for key, file in given["hub"]["extraFiles"].items()
    ]
    secret = {"secretKeyRef": {"name": "hub", "key": "token"}}
    hub = {
        "command": ["jupyterhub", "--config", "/hub/jupyterhub_config.py"],
        "workingDir": "/tmp",  # its cookies' key
        "env": [
            {"name": "POD_NAMESPACE", "value": NAMESPACE},
            {"name": "CONFIGPROXY_AUTH_TOKEN", "valueFrom": secret},
        ],
        "volumeMounts": [
            {"name": "files", "mountPath": "/hub"},
            *mounts,
        ],
        "readinessProbe": {"httpGet": {"path": "/hub/health", "port": 8081}, "periodSeconds": 1},
    }
    verbs = ["get", "watch", "list", "create", "delete"]
    rules = [
        {"apiGroups": [""], "resources": ["pods", "persistentvolumeclaims", "services"], "verbs": verbs},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["get", "watch", "list"]},
    ]
    rbac = "rbac.authorization.k8s.io"
    subject = {"kind": "ServiceAccount", "name": "hub", "namespace": NAMESPACE}
    made = [
        hub_chart.part("v1", "ServiceAccount", "hub"),
        hub_chart.part(f"{rbac}/v1", "Role", "hub", rules=rules),
        hub_chart.part(
            f"{rbac}/v1", "RoleBinding", "hub", roleRef={"apiGroup": rbac, "kind": "Role", "name": "hub"}, subjects=[subject]
        ),
        hub_chart.part("v1", "Secret", "hub", stringData={**files, "token": token}),
        hub_chart.part("v1", "Secret", "singleuser", stringData=extra["singleuser"]),
        *hub_chart.services_and_proxy(),
        hub_chart.pod("hub", hub, serviceAccountName="hub", volumes=[{"name": "files", "secret": {"secretName": "hub"}}]),
    ]
    return [{**each, "metadata": {**each["metadata"], "namespace": NAMESPACE}} for each in made]


@dataclass(frozen=True)
class Hub:
    """The hub behind its proxy."""

    world: World
    password: str = field(default_factory=lambda: secrets.token_urlsafe(12), repr=False)

    def up(self) -> None:
        """Start both, and return when people can come."""
        made = objects(self.password, secrets.token_hex(32))
        self.world.kubectl("apply", "-f", "-", stdin="---\n".join(yaml.safe_dump(each) for each in made))
        for name in ("proxy", "hub"):
            await_true(f"the {name} is ready", partial(lambda each: ready(self.pod(each)), name), 180)

    def down(self) -> None:
        """Take both away, and every notebook."""
        kinds = "pods,services,secrets,rolebindings,roles,serviceaccounts"
        for which in ("component=singleuser-server", "test=jupyter-hub"):
            self.world.kubectl("delete", kinds, "-n", NAMESPACE, "-l", which, "--ignore-not-found")

    def pod(self, name: str) -> dict[str, Any]:
        """A pod as the API server has it."""
        found: dict[str, Any] = json.loads(self.world.kubectl("get", "pod", name, "-n", NAMESPACE, "-o", "json").stdout)
        return found

    def notebooks(self) -> dict[str, str]:
        """The person of each notebook's pod, and the pod's name."""
        wanted = ["get", "pods", "-n", NAMESPACE, "-l", "component=singleuser-server", "-o", "json"]
        pods = [pod["metadata"] for pod in json.loads(self.world.kubectl(*wanted).stdout)["items"]]
        return {pod["annotations"]["hub.jupyter.org/username"]: pod["name"] for pod in pods}

    def address(self) -> str:
        """Where the proxy is reached."""
        jsonpath = "jsonpath={.spec.clusterIP}"
        return self.world.kubectl("get", "service", "proxy-public", "-n", NAMESPACE, "-o", jsonpath).stdout

    def exec(self, pod: str, container: str, *argv: str) -> subprocess.CompletedProcess[str]:
        """A command in a container."""
        return self.world.kubectl("exec", "-n", NAMESPACE, pod, "-c", container, "--", *argv)

    def logs(self, pod: str, container: str) -> str:
        """What a container has printed."""
        return self.world.kubectl("logs", "-n", NAMESPACE, pod, "-c", container).stdout

    def login(self, name: str) -> Person:
        """Come as a browser does, and ask the hub for a token, as its page does."""
        page = httpx.Client(base_url=f"http://{self.address()}", timeout=30)
        page.get("/hub/login").raise_for_status()
        form = {"username": name, "password": self.password, "_xsrf": page.cookies["_xsrf"]}
        answer = page.post("/hub/login", data=form)
        assert answer.status_code == 302, f"{name} was not let in: {answer.status_code} {answer.text[:300]}"
        asked = {"X-XSRFToken": page.cookies["_xsrf"], "Referer": f"{page.base_url}/hub/token"}
        answer = page.post(f"/hub/api/users/{name}/tokens", json={}, headers=asked)
        answer.raise_for_status()
        return Person(name, self, self.address(), {"Authorization": f"token {answer.json()['token']}"})


@dataclass(frozen=True)
class Person:
    """Somebody at the hub, by way of its proxy."""

    name: str
    hub: Hub
    address: str
    headers: Mapping[str, str] = field(repr=False)

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """One request."""
        url = f"http://{self.address}{path}"
        return httpx.request(method, url, headers=dict(self.headers), timeout=30, **more)

    def server(self) -> dict[str, Any]:
        """What the hub says of the person's notebook; empty while there is none."""
        answer = self.ask("GET", f"/hub/api/users/{self.name}").raise_for_status()
        found: dict[str, Any] = answer.json()["servers"].get("", {})
        return found

    def start(self) -> None:
        """Start the notebook and wait until it answers."""
        answer = self.ask("POST", f"/hub/api/users/{self.name}/server")
        assert answer.is_success, f"{answer.status_code}; the hub's log ends: {self.hub.logs('hub', 'hub')[-3000:]}"
        await_true(f"{self.name}'s notebook is ready", self._answers, 300)

    def _answers(self) -> bool:
        server = self.server()
        assert server, f"the hub has given {self.name}'s notebook up: {self.hub.logs('hub', 'hub')[-3000:]}"
        return bool(server["ready"])

    def stop(self) -> None:
        """Stop the notebook and wait until it is gone."""
        self.ask("DELETE", f"/hub/api/users/{self.name}/server").raise_for_status()
        await_true(f"{self.name}'s notebook is gone", lambda: not self.server(), 120)

    def at(self, path: str) -> str:
        """A path of the person's notebook."""
        return f"/user/{self.name}{path}"

    def run(self, *cells: str) -> str:
        """What cells of a new notebook print. Raises RuntimeError with the traceback of one that fails."""
        kernel = self.ask("POST", self.at("/api/kernels")).raise_for_status().json()["id"]
        try:
            path = self.at(f"/api/kernels/{kernel}/channels")
            with WebSocket(self.address, 80, path, dict(self.headers), timeout=60) as channel:
                return "".join(_cell(channel, cell) for cell in cells)
        finally:
            self.ask("DELETE", self.at(f"/api/kernels/{kernel}"))

    def shell(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """A command in a notebook's cell, and what came of it."""
        cell = f"import json, subprocess\ndone = subprocess.run({list(command)!r}, capture_output=True, text=True)\n"
        told = self.run(f"{cell}print(json.dumps([done.returncode, done.stdout, done.stderr]))")
        return subprocess.CompletedProcess(command, *json.loads(told))

    def terminal(self, line: str) -> str:
        """Type a line into a new terminal; what stands there when it has been carried out."""
        name = self.ask("POST", self.at("/api/terminals")).raise_for_status().json()["name"]
        shown = ""
        with WebSocket(self.address, 80, self.at(f"/terminals/websocket/{name}"), dict(self.headers)) as screen:
            screen.send(json.dumps(["stdin", f"{line}; printf 'it is %s\\n' over\r"]))
            while "it is over" not in shown:
                kind, *content = json.loads(screen.receive())
                shown += content[0] if kind == "stdout" else ""
        self.ask("DELETE", self.at(f"/api/terminals/{name}")).raise_for_status()
        return shown


def _cell(channel: WebSocket, code: str) -> str:
    """Jupyter's messaging protocol, version 5: one execute_request, and what it prints until the kernel is idle again."""
    asked = uuid.uuid4().hex
    header = {"msg_id": asked, "msg_type": "execute_request", "username": "", "session": asked, "version": "5.3", "date": ""}
    content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
    channel.send(json.dumps(message))
    printed = ""
    while True:
        heard = json.loads(channel.receive())
        if heard["parent_header"].get("msg_id") != asked:
            continue
        said = heard["content"]
        if heard["msg_type"] == "stream":
            printed += said["text"]
        elif heard["msg_type"] == "error":
            raise RuntimeError("\n".join(said["traceback"]))
        elif heard["msg_type"] == "status" and said["execution_state"] == "idle":
            return printed
