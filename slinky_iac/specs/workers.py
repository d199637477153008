"""Specs of NodeSet (slurmd pods) and LoginSet (sackd and sshd pods)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from slinky_iac import names
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.config.workers import LoginSet, NodeSet, Resources, Ssh
from slinky_iac.specs.directory import conf_mounts, conf_volume, noted, sssd_conf
from slinky_iac.specs.identity import users_mounts, users_pod
from slinky_iac.specs.shared import Spec, container, reference, service, sidecar, slinky_image, template
from slinky_iac.specs.slurm_conf import pairs

JWKS_VOLUME = "slurm-jwks"

_UNITS = {
    "": 1,
    "k": 1e3,
    "Ki": 2**10,
    "M": 1e6,
    "Mi": 2**20,
    "G": 1e9,
    "Gi": 2**30,
    "T": 1e12,
    "Ti": 2**40,
    "P": 1e15,
    "Pi": 2**50,
}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?")


def nodeset_spec(config: ClusterConfig, name: str, nodeset: NodeSet) -> Spec:
    """Spec of one NodeSet, with 0 replicas: its gate writes the number (components/node_set.py)."""
    pod: Spec = {"hostname": names.nodeset_hostname(name)}
    volumes = _volumes(nodeset)
    if config.keys.jwks:
        secret = {"secretName": names.slurm_jwks_secret(config.cluster.resource_name), "defaultMode": 0o600}
        volumes.append({"name": JWKS_VOLUME, "secret": secret})
    image = nodeset.image or config.cluster.images.slurmd or slinky_image(config, "slurmd")
    pod |= users_pod(config, image)
    if volumes := volumes + pod.get("volumes", []) + conf_volume(config):
        pod["volumes"] = volumes
    spec: Spec = {
        "controllerRef": reference(config),
        "replicas": 0,
        "slurmd": container(config, image, _slurmd(config, nodeset)),
        "logfile": sidecar(config),
        "template": noted(config, template(config, nodeset.pod, pod)),
        "partition": _partition(config, nodeset),
        "updateStrategy": _update_strategy(nodeset),
    }
    if conf := pairs(nodeset.slurmd_conf):
        spec["extraConf"] = conf
    if nodeset.ssh.enabled:
        ssh = nodeset.ssh
        spec["ssh"] = {
            "enabled": True,
            "extraSshdConfig": ssh.extra_sshd_config,
            "sssdConfRef": _sssd_conf(config, ssh),
        }
    return spec


def _volumes(settings: NodeSet | LoginSet) -> list[Spec]:
    return [{"name": v.name, **v.source} for v in settings.volumes]


def _mounts(settings: NodeSet | LoginSet) -> list[Spec]:
    return [{"name": v.name, "mountPath": v.mount_path, "readOnly": v.read_only} for v in settings.volumes]


def _sssd_conf(config: ClusterConfig, given: Ssh | LoginSet) -> Spec:
    place = sssd_conf(config)
    if given.sssd_conf_secret is not None or place is None:
        return {"name": given.sssd_conf_secret, "key": given.sssd_conf_entry}
    return place.reference


def template_digest(spec: Spec) -> str:
    """What tells that pods of this spec differ from those of another: the fields that the operator hashes
    (``nodeset_history.go``, getPatch, 1.0 to 1.2.1)."""
    parts = {key: spec[key] for key in ("template", "slurmd", "extraConf", "logfile", "ssh") if key in spec}
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _slurmd(config: ClusterConfig, nodeset: NodeSet) -> Spec:
    more: Spec = {}
    jwks = config.keys.jwks
    env = [{"name": key, "value": value} for key, value in nodeset.env.items()]
    limits = _limits(nodeset.resources)
    if limits:
        more["resources"] = {"requests": dict(limits), "limits": dict(limits)}
    if nodeset.resources.cpus:
        env.append({"name": "POD_CPUS", "value": str(whole_cpus(nodeset.resources.cpus))})
    if nodeset.resources.memory:
        env.append({"name": "POD_MEMORY", "value": str(mebibytes(nodeset.resources.memory))})
    if jwks:  # slurmd looks beside slurm.key, in the operator's volume, unless it is told another place (auth/slurm)
        env.append({"name": "SLURM_SACK_JWKS", "value": f"{names.SLURM_JWKS_FOLDER}/{names.SLURM_JWKS_FILE}"})
    if env:
        more["env"] = env
    if nodeset.privileged is not None:
        more["securityContext"] = {"privileged": nodeset.privileged}
    mounts = _mounts(nodeset)
    if jwks:  # the folder, not the file: only then does kubelet follow the Secret
        mounts.append({"name": JWKS_VOLUME, "mountPath": names.SLURM_JWKS_FOLDER, "readOnly": True})
    if mounts := mounts + users_mounts(config) + conf_mounts(config, by_operator=nodeset.ssh.enabled):
        more["volumeMounts"] = mounts
    return more


def _limits(resources: Resources) -> dict[str, str]:
    limits = {key: value for key, value in (("cpu", resources.cpus), ("memory", resources.memory)) if value}
    return limits | {key: str(count) for key, count in resources.extended.items()}


def _number(quantity: str) -> float:
    match = _QUANTITY.fullmatch(quantity)
    if match is None:
        raise ValueError(f"{quantity!r} is no Kubernetes quantity")
    unit = match[2] or ""
    return float(match[1]) * (0.001 if unit == "m" else _UNITS[unit])


def whole_cpus(quantity: str) -> int:
    """CPUs of a quantity, rounded up: what slurmd is told it has (Slinky's chart rounds the same way)."""
    value = _number(quantity)
    return max(1, int(-(-value // 1)))


def mebibytes(quantity: str) -> int:
    """Mebibytes of a quantity, rounded down, as RealMemory counts."""
    return int(_number(quantity) // 2**20)


def _partition(config: ClusterConfig, nodeset: NodeSet) -> Spec:
    # ``enabled`` is always said: its default is true in 1.0 and false from 1.1 on. Outside slurmctlds never see it.
    if config.controller.external is not None:
        return {"enabled": False}
    spec: Spec = {"enabled": nodeset.partition.enabled}
    if nodeset.partition.enabled and nodeset.partition.config:
        spec["config"] = pairs(nodeset.partition.config)
    return spec


def _update_strategy(nodeset: NodeSet) -> Spec:
    strategy = nodeset.update_strategy
    if strategy.type != "RollingUpdate":  # with Gated, the gate deletes the pods
        return {"type": "OnDelete"}
    return {"type": strategy.type, "rollingUpdate": {"maxUnavailable": strategy.max_unavailable}}


def loginset_spec(config: ClusterConfig, login: LoginSet) -> Spec:
    """Spec of one LoginSet."""
    image = login.image or config.cluster.images.login or slinky_image(config, "login")
    mounts = _mounts(login) + users_mounts(config) + conf_mounts(config, by_operator=True)
    spec: Spec = {
        "controllerRef": reference(config),
        "replicas": login.replicas,
        "login": container(config, image, {"volumeMounts": mounts} if mounts else None),
        "initconf": sidecar(config),
        "sssdConfRef": _sssd_conf(config, login),
        "service": service(login.service, 22),
    }
    if login.root_authorized_keys:
        spec["rootSshAuthorizedKeys"] = login.root_authorized_keys
    if login.extra_sshd_config:
        spec["extraSshdConfig"] = login.extra_sshd_config
    more = users_pod(config, image)
    if volumes := _volumes(login) + more.pop("volumes", []) + conf_volume(config):
        more["volumes"] = volumes
    if pod := noted(config, template(config, login.pod, more)):
        spec["template"] = pod
    return spec


def replaces_pods(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a LoginSet that goes from ``old`` to ``new``, both whole inputs, ends pods that it has."""
    before, after = dict(old.get("spec") or {}), dict(new.get("spec") or {})
    fewer = (before.pop("replicas", 0) or 0) > (after.pop("replicas", 0) or 0)
    for spec in (before, after):
        spec.pop("service", None)
    return fewer or before != after
