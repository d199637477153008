"""A chart for the lab in the place of zero-to-jupyterhub, which can't be had there: the same values, a hub and a proxy.

`pulumi up` deploys it as it would the official one. What it makes of the hub's values is what that chart makes of them: the
hub's pod takes initContainers, volumes, mounts, account and security context from them; all else is in jupyterhub_config.py.
"""

from __future__ import annotations

import base64
import json
import secrets
from pathlib import Path
from typing import Any

import yaml

from lab.slurm import jupyter
from tests.faults.jupyter_hub import CONFIG, NODE, objects

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


def write(folder: Path) -> Path:
    """The chart in ``folder``; returns it."""
    (folder / "templates").mkdir(parents=True, exist_ok=True)
    (folder / "Chart.yaml").write_text(yaml.safe_dump(_CHART))
    made = [each for each in objects("unused", "unused") if each["kind"] in ("Service",) or _is_proxy(each)]
    for each in made:
        each["metadata"].pop("namespace")
    token = base64.b64encode(secrets.token_hex(32).encode()).decode()
    config = base64.b64encode(CONFIG.read_bytes()).decode()
    data = f"  token: {token}\n  jupyterhub_config.py: {config}\n  values.yaml: {{{{ .Values | toJson | b64enc }}}}\n"
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: hub}}\ndata:\n{data}"
    hub = _HUB.replace("@NODE@", NODE.name).replace("@IMAGE@", jupyter.NAME)
    (folder / "templates" / "hub.yaml").write_text(f"{secret}---\n{hub}")
    (folder / "templates" / "proxy.yaml").write_text("---\n".join(json.dumps(each) + "\n" for each in made))
    return folder


def _is_proxy(made: dict[str, Any]) -> bool:
    return bool(made["kind"] == "Pod" and made["metadata"]["name"] == "proxy")
