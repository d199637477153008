"""JupyterHub's configuration file in the hub's pod: what the chart zero-to-jupyterhub makes of its values.

The chart can't be had from a package registry. It hands each of its values to a setting of JupyterHub or KubeSpawner
(files/hub/jupyterhub_config.py of the chart); the same is done here for the values that the example has, and with the
chart's own defaults. A value that this file doesn't know ends the hub: none of the example's is left out unseen.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

c = get_config()  # type: ignore[name-defined]  # noqa: F821
values: dict[str, Any] = json.loads(Path("/hub/values.yaml").read_text())

c.JupyterHub.spawner_class = "kubespawner.KubeSpawner"
c.JupyterHub.db_url = "sqlite://"
c.JupyterHub.cleanup_servers = False
c.JupyterHub.hub_bind_url = "http://:8081"
c.JupyterHub.hub_connect_url = "http://hub:8081"
c.ConfigurableHTTPProxy.should_start = False
c.ConfigurableHTTPProxy.api_url = "http://proxy-api:8001"
c.KubeSpawner.namespace = os.environ["POD_NAMESPACE"]
c.KubeSpawner.uid = 1000
c.KubeSpawner.start_timeout = 300
c.KubeSpawner.http_timeout = 120  # not the chart's: a busy machine
c.Spawner.cmd = "jupyterhub-singleuser"

user = values.pop("singleuser")
user.pop("networkPolicy")  # an object of the chart's own; the lab's network enforces none
image, storage = user.pop("image"), user.pop("storage", {})
image.pop("pullPolicy", None)
c.KubeSpawner.image = f"{image.pop('name')}:{image.pop('tag')}"
for value, setting in (
    ("fsGid", "fs_gid"),
    ("allowPrivilegeEscalation", "allow_privilege_escalation"),
    ("initContainers", "init_containers"),
    ("extraEnv", "environment"),
    ("nodeSelector", "node_selector"),
):
    if value in user:
        setattr(c.KubeSpawner, setting, user.pop(value))
files = user.pop("extraFiles", {})
given = {"name": "files", "secret": {"secretName": "singleuser", "items": [{"key": key, "path": key} for key in files]}}
mounts = [{"name": "files", "mountPath": file["mountPath"], "subPath": key} for key, file in files.items()]
mounts += storage.pop("extraVolumeMounts", [])
volumes = (*([given] if files else []), *storage.pop("extraVolumes", []))
c.KubeSpawner.volumes = {volume["name"]: volume for volume in volumes}
c.KubeSpawner.volume_mounts = {f"{number}-{mount['name']}": mount for number, mount in enumerate(mounts)}

hub = values.pop("hub")
for section, settings in hub.pop("config").items():
    c[section].update(settings)
OF_THE_POD = {"serviceAccount", "image", "podSecurityContext", "containerSecurityContext", "initContainers"}
OF_THE_POD |= {"extraVolumes", "extraVolumeMounts"}  # the hub's own pod, which the chart makes of them
values.pop("rbac", None)
if left := [*values, *user, *storage, *image, *(set(hub) - {"extraConfig", "extraFiles"} - OF_THE_POD)]:
    raise ValueError(f"values that lab/hub_config.py hands to nothing: {left}; see what the chart does with them")
for name, code in sorted(hub["extraConfig"].items()):
    exec(compile(code, name, "exec"))
