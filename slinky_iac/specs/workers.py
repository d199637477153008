"""Specs of NodeSet (slurmd pods) and LoginSet (sackd and sshd pods)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from slinky_iac import names
from slinky_iac.config.adopted import kept
from slinky_iac.config.quantities import mebibytes, whole_cpus
from slinky_iac.config.sections import PodSettings
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.config.workers import LoginSet, NodeSet, Resources, Ssh
from slinky_iac.daemon_variables import written_for
from slinky_iac.keys.catalogue import SLURM
from slinky_iac.specs.directory import CONF, conf_mounts, conf_volume, noted, sssd_conf
from slinky_iac.specs.endpoints import conf_server_env
from slinky_iac.specs.identity import users_mounts, users_pod
from slinky_iac.specs.raw import with_raw
from slinky_iac.specs.shared import (
    Spec,
    container,
    filled,
    image_of,
    mount,
    reference,
    service,
    sidecar,
    sized,
    template,
)
from slinky_iac.specs.slurm_conf import pairs


def nodeset_spec(config: ClusterConfig, name: str, nodeset: NodeSet) -> Spec:
    """Spec of one NodeSet, with 0 replicas: its gate writes the number (components/node_set.py), or with DaemonSet the mode
    and which Kubernetes nodes fit (docs/adr/0032)."""
    volumes = _volumes(nodeset)
    if (bundle := config.bundle_of(SLURM)) is not None:
        volumes.append({"name": SLURM.volume, "secret": {"secretName": bundle.name, "defaultMode": 0o600}})
    image = nodeset.image or image_of(config, "slurmd")
    pod = {"hostname": names.nodeset_hostname(name), **users_pod(config, image)}
    pod["volumes"] = volumes + pod.get("volumes", []) + conf_volume(config)
    spec: Spec = {
        "controllerRef": reference(config),
        "replicas": 0,
        "slurmd": container(config, image, _slurmd(config, nodeset)),
        "logfile": sidecar(config),
        "template": noted(config, template(config, _placed(nodeset), filled(pod))),
        "partition": _partition(config, nodeset),
        "updateStrategy": _update_strategy(nodeset),
        "extraConf": pairs(nodeset.slurmd_conf),
    }
    if nodeset.ssh.enabled:
        more = {"extraSshdConfig": nodeset.ssh.extra_sshd_config, "sssdConfRef": _sssd_conf(config, nodeset.ssh)}
        spec["ssh"] = {"enabled": True, **more}
    own = names.nodeset_resource(config.cluster.resource_name, name)
    return kept(config.adopted, "NodeSet", own, with_raw(config, filled(spec), nodeset.raw, "nodesets"))


def _placed(nodeset: NodeSet) -> PodSettings:
    """The pod's settings without those that only a gate writes."""
    gated: dict[str, object] = {"node_selector": {}, "affinity": {}, "tolerations": ()}
    return nodeset.pod.model_copy(update=gated) if nodeset.on_each_node else nodeset.pod


def _volumes(settings: NodeSet | LoginSet) -> list[Spec]:
    """Each once: a volume that is mounted at several places has an entry for each of them."""
    every = [{"name": v.name, **v.source} for v in settings.volumes]
    return [volume for number, volume in enumerate(every) if volume not in every[:number]]


def _mounts(settings: NodeSet | LoginSet) -> list[Spec]:
    return [
        {
            "name": v.name,
            "mountPath": v.mount_path,
            "readOnly": v.read_only,
            **filled({"subPath": v.sub_path, "mountPropagation": v.mount_propagation}),
        }
        for v in settings.volumes
    ]


def _sssd_conf(config: ClusterConfig, given: Ssh | LoginSet) -> Spec:
    named = given.sssd_conf_from
    place = sssd_conf(config) if named is None else named.entry(CONF)
    return {} if place is None else place.reference


def template_digest(spec: Spec) -> str:
    """What tells that pods of this spec differ from those of another: the fields that the operator hashes
    (``nodeset_history.go``, getPatch, 1.0 to 1.2.1)."""
    parts = {key: spec[key] for key in ("template", "slurmd", "extraConf", "logfile", "ssh") if key in spec}
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _slurmd(config: ClusterConfig, nodeset: NodeSet) -> Spec:
    bundle, limits = config.bundle_of(SLURM), _limits(nodeset.resources)
    given = [{"name": key, "value": value} for key, value in nodeset.env.items()]
    # A value may name these, and the operator's of the node's place, as $(NAME): Kubernetes puts in those alone that come
    # before it.
    named = (*written_for("NodeSet"), config.operator_version.topology_variable)
    later = [variable for variable in given if any(f"$({name})" in variable["value"] for name in named)]
    env = [variable for variable in given if variable not in later]
    env += conf_server_env(config)
    if nodeset.resources.cpus:
        env.append({"name": "POD_CPUS", "value": str(whole_cpus(nodeset.resources.cpus))})
    if nodeset.resources.memory:
        env.append({"name": "POD_MEMORY", "value": str(mebibytes(nodeset.resources.memory))})
    if bundle is not None:
        # slurmd looks beside slurm.key, in the operator's volume, unless this names another place (auth/slurm).
        env.append({"name": SLURM.variable, "value": SLURM.bundle_path})
    env += later
    mounts = _mounts(nodeset)
    if bundle is not None:  # the folder, not the file: only then does kubelet follow the Secret
        mounts.append(mount(SLURM.volume, SLURM.folder))
    return filled(
        {
            "resources": {"requests": dict(limits), "limits": dict(limits)} if limits else None,
            "env": env,
            "securityContext": None if nodeset.privileged is None else {"privileged": nodeset.privileged},
            "volumeMounts": mounts + users_mounts(config) + conf_mounts(config, by_operator=nodeset.ssh.enabled),
        }
    )


def _limits(resources: Resources) -> dict[str, str]:
    limits = {key: value for key, value in (("cpu", resources.cpus), ("memory", resources.memory)) if value}
    return limits | {key: str(count) for key, count in resources.extended.items()}


def _partition(config: ClusterConfig, nodeset: NodeSet) -> Spec:
    # ``enabled`` is always said: its default is true in 1.0 and false from 1.1 on. Outside slurmctlds never see it.
    if not config.slurmctld.owns_conf:
        return {"enabled": False}
    enabled = nodeset.partition.enabled
    return filled({"enabled": enabled, "config": pairs(nodeset.partition.config) if enabled else None})


def _update_strategy(nodeset: NodeSet) -> Spec:
    strategy = nodeset.update_strategy
    if strategy.type != "RollingUpdate":  # with Gated, the gate deletes the pods
        return {"type": "OnDelete"}
    return {"type": strategy.type, "rollingUpdate": {"maxUnavailable": strategy.max_unavailable}}


def loginset_spec(config: ClusterConfig, name: str, login: LoginSet) -> Spec:
    """Spec of one LoginSet."""
    image = login.image or image_of(config, "login")
    mounts = _mounts(login) + users_mounts(config) + conf_mounts(config, by_operator=True)
    own = filled({"env": [*conf_server_env(config)], "volumeMounts": mounts})
    pod = users_pod(config, image)
    pod["volumes"] = _volumes(login) + pod.get("volumes", []) + conf_volume(config)
    spec = {
        "controllerRef": reference(config),
        "replicas": login.replicas,
        "login": container(config, image, own | sized(config, "login", login.resources)),
        "initconf": sidecar(config),
        "sssdConfRef": _sssd_conf(config, login),
        "service": service(login.service, 22),
        "rootSshAuthorizedKeys": login.root_authorized_keys,
        "extraSshdConfig": login.extra_sshd_config,
        "template": noted(config, template(config, login.pod, filled(pod))),
    }
    resource = names.loginset_resource(config.cluster.resource_name, name)
    return kept(config.adopted, "LoginSet", resource, with_raw(config, filled(spec), login.raw, "logins"))


def replaces_pods(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a LoginSet that goes from ``old`` to ``new``, both whole inputs, ends pods that it has. slurm-operator gives
    them its annotations, and from 1.1 on its labels too (``login_app.go``)."""
    before, after = dict(old.get("spec") or {}), dict(new.get("spec") or {})
    fewer = (before.pop("replicas", 0) or 0) > (after.pop("replicas", 0) or 0)
    for spec in (before, after):
        spec.pop("service", None)
    own, given = (dict(inputs.get("metadata") or {}) for inputs in (old, new))
    return fewer or before != after or any(own.get(key) != given.get(key) for key in ("labels", "annotations"))
