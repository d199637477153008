"""A chart for the lab in the place of zero-to-jupyterhub, which can't be had there: the same values, a hub and a proxy.

`pulumi up` deploys it as it would the official one. What it makes of the hub's values is what that chart makes of them: the
hub's pod takes initContainers, volumes, mounts, account and security context from them; all else is in hub_config.py.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lab.kubernetes.layout import NODES
from lab.slurm import jupyter

NODE: Final = NODES[0]
"""Hub, proxy and notebooks run on one node: their image is big, and only this one has it."""
CONFIG: Final = Path(__file__).with_name("hub_config.py")
"""JupyterHub's configuration, which makes settings of the chart's values."""
HOME: Final = "/home/jovyan"
_NOBODY: Final = {
    "runAsUser": 1000, "runAsGroup": 1000, "runAsNonRoot": True, "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
}  # fmt: skip
_CHART = {"apiVersion": "v2", "name": "jupyterhub", "version": "4.4.0"}
_HUB = """\
apiVersion: v1
kind: Pod
metadata:
  name: hub
  labels: {component: hub, test: jupyter-hub}
spec:
  serviceAccountName: {{ .Values.hub.serviceAccount.name }}
  nodeSelector: {kubernetes.io/hostname: @NODE@}
  terminationGracePeriodSeconds: 1
  securityContext: {{ .Values.hub.podSecurityContext | default dict | toJson }}
  initContainers: {{ .Values.hub.initContainers | default list | toJson }}
  volumes:
  - {name: files, secret: {secretName: hub}}
  {{- range .Values.hub.extraVolumes }}
  - {{ . | toJson }}
  {{- end }}
  containers:
  - name: hub
    image: @IMAGE@
    imagePullPolicy: IfNotPresent
    command: [jupyterhub, --config, /hub/jupyterhub_config.py]
    workingDir: /tmp
    env:
    - {name: POD_NAMESPACE, value: {{ .Release.Namespace }}}
    - {name: HOME, value: /tmp}
    - {name: CONFIGPROXY_AUTH_TOKEN, valueFrom: {secretKeyRef: {name: hub, key: token}}}
    securityContext: {{ .Values.hub.containerSecurityContext | default (dict "runAsUser" 1000 "runAsGroup" 1000) | toJson }}
    volumeMounts:
    - {name: files, mountPath: /hub}
    {{- range .Values.hub.extraVolumeMounts }}
    - {{ . | toJson }}
    {{- end }}
    readinessProbe: {httpGet: {path: /hub/health, port: 8081}, periodSeconds: 1}
"""


def clients(folder: Path, people: Mapping[str, int], namespace: str, password: str) -> dict[str, Any]:
    """The section `clients` with a hub, whose chart is written to ``folder``: people by uid, all with one password."""
    config = {
        "JupyterHub": {"authenticator_class": "dummy"},
        "DummyAuthenticator": {"password": password},
        "KubeSpawner": {"notebook_dir": HOME},
    }
    home = {"name": "home", "mountPath": HOME}
    user = {
        "nodeSelector": {"kubernetes.io/hostname": NODE.name},
        "extraEnv": {"HOME": HOME},
        "storage": {"extraVolumes": [{"name": "home", "emptyDir": {}}], "extraVolumeMounts": [home]},
    }
    hub = {
        "chart": {"path": str(write(folder, hashlib.sha256(f"proxy {password}".encode()).hexdigest()))},
        "image": jupyter.NAME,
        "values": {"hub": {"config": config}, "singleuser": user},
    }
    known = {name: {"uid": uid, "gid": uid, "home": HOME} for name, uid in people.items()}
    return {"nb": {"namespace": namespace, "people": known, "jupyterhub": hub}}


def write(folder: Path, token: str) -> Path:
    """The chart in ``folder``; returns it. ``token`` is the hub's and its proxy's alone."""
    (folder / "templates").mkdir(parents=True, exist_ok=True)
    (folder / "Chart.yaml").write_text(json.dumps(_CHART))
    token = base64.b64encode(token.encode()).decode()
    config = base64.b64encode(CONFIG.read_bytes()).decode()
    data = f"  token: {token}\n  jupyterhub_config.py: {config}\n  values.yaml: {{{{ .Values | toJson | b64enc }}}}\n"
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: hub}}\ndata:\n{data}"
    hub = _HUB.replace("@NODE@", NODE.name).replace("@IMAGE@", jupyter.NAME)
    (folder / "templates" / "hub.yaml").write_text(f"{secret}---\n{hub}")
    (folder / "templates" / "proxy.yaml").write_text("---\n".join(json.dumps(each) + "\n" for each in services_and_proxy()))
    return folder


def services_and_proxy() -> list[dict[str, Any]]:
    """The hub's and the proxy's Services, and the proxy."""
    secret = {"secretKeyRef": {"name": "hub", "key": "token"}}
    proxy = {
        "command": [
            "configurable-http-proxy", "--ip=0.0.0.0", "--port=8000", "--api-ip=0.0.0.0", "--api-port=8001",
            "--default-target=http://hub:8081", "--error-target=http://hub:8081/hub/error",
        ],
        "env": [{"name": "CONFIGPROXY_AUTH_TOKEN", "valueFrom": secret}],
        "readinessProbe": {"httpGet": {"path": "/_chp_healthz", "port": 8000}, "periodSeconds": 1},
    }  # fmt: skip
    return [
        _service("hub", "hub", {8081: 8081}),
        _service("proxy-api", "proxy", {8001: 8001}),
        _service("proxy-public", "proxy", {80: 8000}),
        pod("proxy", proxy, automountServiceAccountToken=False),
    ]


def part(version: str, kind: str, name: str, **more: object) -> dict[str, Any]:
    """An object with the hub's labels."""
    labels = {"component": name, "test": "jupyter-hub"}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "labels": labels}, **more}


def pod(name: str, container: dict[str, Any], **more: object) -> dict[str, Any]:
    """A pod on the node that has the image."""
    whole = {"name": name, "image": jupyter.NAME, "imagePullPolicy": "IfNotPresent", "securityContext": _NOBODY, **container}
    selector = {"kubernetes.io/hostname": NODE.name}
    spec = {"containers": [whole], "nodeSelector": selector, "terminationGracePeriodSeconds": 1, **more}
    return part("v1", "Pod", name, spec=spec)


def _service(name: str, component: str, ports: Mapping[int, int]) -> dict[str, Any]:
    entries = [{"port": port, "targetPort": target} for port, target in ports.items()]
    return part("v1", "Service", name, spec={"selector": {"component": component}, "ports": entries})
