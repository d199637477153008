"""JupyterHub by its official chart (zero-to-jupyterhub): the values that make notebooks clients of the cluster.

spawn: pod. Each notebook is a pod with the client's sidecar, as the person's uid and gid; the person comes from the stack's
list, which no user of the hub can change. spawn: slurm. The hub's own pod has the sidecar, and batchspawner submits each
notebook as a job of its person: the hub runs as root in its container with two capabilities, to become that person for
sbatch, squeue and scancel. A person who controls the hub controls Slurm either way, since the hub says who a person is.

The chart's Role lets the hub read every Secret of its namespace, and the key is there; this stack makes a Role without
Secrets in its place. Sources: the chart's ``values.schema.yaml`` and ``templates/hub/rbac.yaml``; batchspawner 1.3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from slinky_iac.blueprint.flows import flows
from slinky_iac.config.clients import Client, HubChart, JupyterHub
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs.clients import client_pod, environment
from slinky_iac.specs.operator import by_digest, merge
from slinky_iac.specs.shared import Spec

REPOSITORY: Final = "https://hub.jupyter.org/helm-chart/"
ACCOUNT: Final = "slurm-hub"
"""ServiceAccount, Role and RoleBinding of the hub."""
NOTEBOOKS: Final = "component=singleuser-server"
"""Selects the pods of notebooks (the chart's ``singleuser`` and KubeSpawner's ``common_labels``)."""
PORT: Final = 8081
_PEOPLE: Final = """\
import json

people = json.loads('''@PEOPLE@''')  # name: [uid, gid], from the stack's settings


def numbers(name):
    if name not in people:
        raise PermissionError(f"{name} is not among the people of this client")
    return people[name]


"""
_AS_PODS: Final = """\
async def as_slurm_user(spawner):
    spawner.uid, spawner.gid = numbers(spawner.user.name)  # without a gid, jobs would be of group 0


c.KubeSpawner.pre_spawn_hook = as_slurm_user
"""
_AS_JOBS: Final = """\
import re
import subprocess

import batchspawner
from traitlets import Unicode, default


class SlurmPerson(batchspawner.SlurmSpawner):
    req_uid = Unicode()
    req_gid = Unicode()

    @default("req_uid")
    def _uid(self):
        return str(numbers(self.user.name)[0])

    @default("req_gid")
    def _gid(self):
        return str(numbers(self.user.name)[1])

    def state_gethost(self):
        node = super().state_gethost()
        shown = subprocess.run(["scontrol", "show", "node", node], capture_output=True, text=True, timeout=30, check=False)
        found = re.search(r"NodeAddr=(\\S+)", shown.stdout)
        return found[1] if found else node  # the hub's DNS needn't know the node


c.JupyterHub.spawner_class = SlurmPerson
c.JupyterHub.hub_connect_url = "http://hub.@NAMESPACE@.svc:8081"
c.SlurmPerson.exec_prefix = "setpriv --reuid={uid} --regid={gid} --clear-groups --"
c.SlurmPerson.req_partition = "@PARTITION@"
c.SlurmPerson.req_options = "@OPTIONS@"
c.SlurmPerson.batch_script = '''#!/bin/bash
#SBATCH --job-name=jupyter
#SBATCH --output=/dev/null
#SBATCH --chdir=/tmp
{% if partition %}#SBATCH --partition={{partition}}
{% endif %}#SBATCH --export=ALL
{% if options %}#SBATCH {{options}}
{% endif %}
set -eu
if [ ! -w "$HOME" ]; then export HOME=$(mktemp -d "/tmp/jupyter-XXXXXX"); fi
cd "$HOME"
exec > "jupyter-$SLURM_JOB_ID.log" 2>&1
{{prologue}}
exec {{cmd}}
'''
c.Spawner.start_timeout = 300
"""


def chart(hub: HubChart) -> tuple[str, str | None, str | None]:
    """Reference, repository and version of the chart, as a Helm Release takes them."""
    if hub.path is not None:
        return str(PurePosixPath(hub.path)), None, hub.version
    if hub.oci is not None:
        return by_digest(hub.oci, hub.digest), None, hub.version
    return "jupyterhub", hub.repo or REPOSITORY, hub.version


def hub_role_rules() -> list[Spec]:
    """What KubeSpawner needs: everything of the chart's Role but Secrets."""
    verbs = ["get", "watch", "list", "create", "delete"]
    return [
        {"apiGroups": [""], "resources": ["pods", "persistentvolumeclaims"], "verbs": verbs},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["get", "watch", "list"]},
    ]


def hub_values(config: ClusterConfig, name: str, client: Client, hub: JupyterHub) -> Spec:
    """Helm values: ours, and the stack's own merged over them. No key and no password is in them."""
    pod = client_pod(config, name, client)
    people = {person: [user.uid, user.gid] for person, user in sorted(client.people.items())}
    code = _PEOPLE.replace("@PEOPLE@", json.dumps(people)) + (_AS_PODS if hub.spawn == "pod" else _jobs(client, hub))
    image, _, tag = (hub.image or "").rpartition(":")
    ours: Spec = {
        "rbac": {"create": False},
        "hub": {
            "serviceAccount": {"create": False, "name": ACCOUNT},
            "config": {
                "JupyterHub": {"admin_access": False},
                "Authenticator": {"allowed_users": sorted(client.people)},
            },
            "extraConfig": {"slurm": code},
        },
        "singleuser": {
            "image": {"name": image, "tag": tag, "pullPolicy": config.cluster.images.pull_policy},
            "networkPolicy": {"egress": [{"ports": [{"port": port} for port in _ports(config)]}]},
        },
    }
    given = environment(config, client, hub=True)
    over = _notebook_pods(pod, given) if hub.spawn == "pod" else _hub_pod(pod, image, tag)
    return _with_lists(merge(ours, over), hub.values)


def _with_lists(ours: Mapping[str, Any], values: Mapping[str, Any], *above: str) -> Spec:
    """A site's values merged over ours. Volumes, mounts and containers are added to ours: Helm replaces lists, and without
    its sidecar a notebook would be no client."""
    merged = merge(ours, values)
    for name, value in values.items():
        known, place = ours.get(name), (*above, name)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            merged[name] = _with_lists(known, value, *place)
        elif place in _ADDED and isinstance(known, list) and isinstance(value, list):
            merged[name] = [*known, *value]
    return merged


_ADDED: Final = (
    ("singleuser", "initContainers"),
    ("singleuser", "storage", "extraVolumes"),
    ("singleuser", "storage", "extraVolumeMounts"),
    ("hub", "initContainers"),
    ("hub", "extraVolumes"),
    ("hub", "extraVolumeMounts"),
)


def _notebook_pods(pod: Spec, environment: dict[str, str]) -> Spec:
    return {
        "singleuser": {
            "extraEnv": environment,
            "fsGid": pod["securityContext"]["fsGroup"],
            "allowPrivilegeEscalation": False,
            "initContainers": pod["initContainers"],
            "storage": {"extraVolumes": pod["volumes"], "extraVolumeMounts": pod["volumeMounts"]},
        }
    }


def _hub_pod(pod: Spec, image: str, tag: str) -> Spec:
    return {
        "hub": {
            "image": {"name": image, "tag": tag},
            "podSecurityContext": {"fsGroup": pod["securityContext"]["fsGroup"], "runAsNonRoot": False},
            "containerSecurityContext": {
                "runAsUser": 0,
                "runAsGroup": 0,
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"], "add": ["SETUID", "SETGID"]},
            },
            "initContainers": pod["initContainers"],
            "extraVolumes": pod["volumes"],
            "extraVolumeMounts": pod["volumeMounts"],
        }
    }


def _jobs(client: Client, hub: JupyterHub) -> str:
    options = json.dumps(hub.options)[1:-1]
    return (
        _AS_JOBS.replace("@NAMESPACE@", client.namespace)
        .replace("@PARTITION@", hub.partition or "")
        .replace("@OPTIONS@", options)
    )


def _ports(config: ClusterConfig) -> tuple[int, ...]:
    """Where notebooks connect: slurmctld, slurmd (srun) and slurmdbd (sacct)."""
    own = [flow.ports for flow in flows(config) if flow.source == "clients"]
    return tuple(port for ports in own if isinstance(ports, tuple) for port in ports)


def hub_binding(client: Client) -> Spec:
    """Whom the Role is for: fields of the RoleBinding."""
    return {
        "role_ref": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ACCOUNT},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": client.namespace}],
    }
