"""JupyterHub's configuration file in the hub's pod: what the chart zero-to-jupyterhub makes of its values.

The chart can't be had from a package registry. It hands each of its values to a setting of JupyterHub or KubeSpawner
(files/hub/jupyterhub_config.py of the chart); the same is done here for the values that the example has, and with the
chart's own defaults. A value that this file doesn't know ends the hub: none of the example's is left out unseen.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

c = get_config()  # type: ignore[name-defined]  # noqa: F821
values: dict[str, Any] = yaml.safe_load(Path("/hub/values.yaml").read_text())

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
image, storage = user.pop("image"), user.pop("storage")
c.KubeSpawner.image = f"{image['name']}:{image['tag']}"
c.KubeSpawner.fs_gid = user.pop("fsGid")
c.KubeSpawner.allow_privilege_escalation = user.pop("allowPrivilegeEscalation")
c.KubeSpawner.init_containers = user.pop("initContainers")
c.KubeSpawner.environment = user.pop("extraEnv")
c.KubeSpawner.node_selector = user.pop("nodeSelector")
files = user.pop("extraFiles")
given = {"name": "files", "secret": {"secretName": "singleuser", "items": [{"key": key, "path": key} for key in files]}}
mounts = [{"name": "files", "mountPath": file["mountPath"], "subPath": key} for key, file in files.items()]
mounts += storage.pop("extraVolumeMounts")
c.KubeSpawner.volumes = {volume["name"]: volume for volume in (given, *storage.pop("extraVolumes"))}
c.KubeSpawner.volume_mounts = {f"{number}-{mount['name']}": mount for number, mount in enumerate(mounts)}

hub = values.pop("hub")
for section, settings in hub.pop("config").items():
    c[section].update(settings)
if left := [*values, *user, *storage, *(set(hub) - {"extraConfig", "extraFiles"})]:
    raise ValueError(
        f"values that tests/faults/jupyterhub_config.py hands to nothing: {left}; see what the chart does with them"
    )
for name, code in sorted(hub["extraConfig"].items()):
    exec(compile(code, name, "exec"))
