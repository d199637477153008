"""The pods of a stack as slurm-operator makes them of its custom resources: what Kubernetes is asked about beforehand.

Names, volumes, mounts, ports, variables and rights are the operator's (``internal/builder``, 1.0.1 to 1.2.1); texts of its
scripts and hashes in annotations are left out. Its two ways of merging are followed: 1.0 lays lists one behind the other
and replaces all else (``pod_template.go``, ``container.go``), later releases drop empty values and merge as Kubernetes'
strategic merge patch does (``structutils/kube.go``). Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac import names
from slinky_iac.config import raw_merge
from slinky_iac.config.raw import Raw
from slinky_iac.config.stack import StackConfig
from slinky_iac.specs.daemons import accounting_spec, controller_spec, restapi_spec
from slinky_iac.specs.shared import Spec, filled, mount, placement
from slinky_iac.specs.workers import loginset_spec, nodeset_spec

_KEYS: Final = {
    "containers": "name",
    "env": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ports": "containerPort",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
"""Lists that a strategic merge patch merges, by which field of their entries (``patchMergeKey``, ``core/v1/types.go``)."""
_LISTS: Final = frozenset(_KEYS) - {"hostAliases"} | {"args", "command", "readinessGates", "resizePolicy", "tolerations"}
"""Lists that 1.0 lays one behind the other."""
_CHAINED: Final = ("containers", "initContainers")
_ETC: Final = "slurm-etc"
_STATE: Final = "statesave"
_ROOT: Final = "/root"
"""Home of root in login pods."""
_SSH_KEYS: Final = ("rsa", "ed25519", "ecdsa")


@dataclass(frozen=True)
class Resource:
    """A custom resource of the stack whose pods the operator makes."""

    path: str
    """Its settings, as ``nodesets.gpu``."""
    kind: str
    name: str
    container: str
    """Field of the daemon's own container, and its name in the pod."""
    spec: Spec
    raw: Raw
    gated: Spec
    """What a gate writes into its pods later: which Kubernetes nodes fit, in DaemonSet mode."""


def resources(config: StackConfig) -> Iterator[Resource]:
    """All custom resources with pods. ``config`` is sound: of another one no spec can be rendered."""
    if not config.auth.makes_daemons:
        return
    base, settings = config.cluster.resource_name, config
    yield Resource("controller", "Controller", base, "slurmctld", controller_spec(config), settings.controller.raw, {})
    if config.accounting.enabled:
        yield Resource("accounting", "Accounting", base, "slurmdbd", accounting_spec(config), settings.accounting.raw, {})
    yield Resource("restapi", "RestApi", base, "slurmrestd", restapi_spec(config), settings.restapi.raw, {})
    for name, nodeset in config.nodesets.items():
        own, spec = names.nodeset_resource(base, name), nodeset_spec(config, name, nodeset)
        gated = placement(nodeset.pod) if nodeset.on_each_node else {}
        yield Resource(f"nodesets.{name}", "NodeSet", own, "slurmd", spec, nodeset.raw, gated)
    for name, login in config.logins.items():
        own = names.loginset_resource(base, name)
        yield Resource(f"logins.{name}", "LoginSet", own, "login", loginset_spec(config, name, login), login.raw, {})


def pod_of(config: StackConfig, each: Resource) -> Spec | None:
    """Metadata and spec of one pod of a custom resource, without a name; None where its daemon is outside."""
    if each.container not in each.spec:
        return None
    strategic = config.operator_version.merges_mappings
    merged = _strategic if strategic else _replaced
    template = each.spec.get("template", {})
    given = {**template.get("spec", {}), **each.gated}
    base = _BASES[each.kind](config, each)
    own, *others = (_container(one, each.spec, merged) for one in base.pop("containers"))
    before = [_container(one, each.spec, merged) for one in base.pop("initContainers", [])]
    spec = merged(base, {key: value for key, value in given.items() if key not in _CHAINED})
    spec["containers"] = [own, *others, *given.get("containers", [])]
    spec["initContainers"] = [*before, *given.get("initContainers", [])]
    volumes = spec.get("volumes", [])
    for claim in claims(each.spec, each.kind):  # as the StatefulSet and the NodeSet do, by name (updateStorage)
        volumes = [one for one in volumes if one.get("name") != claim]
        volumes.append({"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{each.name}-0"}})
    spec["volumes"] = volumes
    if each.kind == "NodeSet":  # the first pod's; in DaemonSet mode the Kubernetes node's name
        spec["hostname"] = f"{spec.get('hostname', '')}0"
    metadata = template.get("metadata", {})
    labels = {
        **metadata.get("labels", {}),
        names.LABEL_NAME: each.container,
        names.LABEL_INSTANCE: each.name,
        names.LABEL_COMPONENT: "worker" if each.kind == "NodeSet" else each.kind.lower().removesuffix("set"),
    }
    return {"metadata": filled({"labels": labels, "annotations": metadata.get("annotations", {})}), "spec": filled(spec)}


def claims(spec: Spec, kind: str) -> list[str]:
    """Names of volumes that come of claims which a custom resource makes."""
    found = [str(each.get("metadata", {}).get("name", "")) for each in spec.get("volumeClaimTemplates", [])]
    kept = spec.get("persistence", {})
    own = kind == "Controller" and kept.get("enabled", True) and not kept.get("existingClaim")
    return [*found, *([_STATE] if own else [])]


def _container(base: Spec, spec: Spec, merged: Callable[[Spec, Spec], Spec]) -> Spec:
    given = spec.get(base["name"], {})
    return merged(base, given)


def _strategic(base: Spec, patch: Spec) -> Spec:
    found = dict(base)
    for field, value in _without_empty(patch).items():
        held = found.get(field)
        if isinstance(value, Mapping) and isinstance(held, Mapping):
            found[field] = _strategic(dict(held), dict(value))
        elif isinstance(value, list) and field in _KEYS:
            found[field] = _listed(held or [], value, _KEYS[field])
        elif isinstance(value, list) and field == "args":
            found[field] = [*(held or []), *value]
        else:
            found[field] = value
    return found


def _listed(base: list[Any], patch: list[Any], key: str) -> list[Any]:
    found = list(base)
    for each in patch:
        name = each.get(key) if isinstance(each, Mapping) else None
        at = next((at for at, one in enumerate(found) if name is not None and one.get(key) == name), None)
        if at is None:
            found.append(each)
        else:
            found[at] = _strategic(dict(found[at]), dict(each))
    return found


def _without_empty(patch: Mapping[str, Any]) -> Spec:
    found: Spec = {}
    for field, value in patch.items():
        kept = _without_empty(value) if isinstance(value, Mapping) else value
        if kept:
            found[field] = kept
    return found


def _replaced(base: Spec, given: Spec) -> Spec:
    found = dict(base)
    for field, value in given.items():
        if value in (None, "", [], {}, 0):
            continue
        if field in _LISTS:
            found[field] = [*found.get(field, []), *value]
        elif field == "nodeSelector":
            found[field] = {**found.get(field, {}), **value}
        else:
            found[field] = value
    return found


def _ports(name: str, *numbers: int) -> list[Spec]:
    return [
        {"name": name if at == 0 else "ssh", "containerPort": port, "protocol": "TCP"} for at, port in enumerate(numbers)
    ]


def _memory(name: str) -> Spec:
    return {"name": name, "emptyDir": {"medium": "Memory"}}


def _files(name: str, *sources: Spec) -> Spec:
    return {"name": name, "projected": {"defaultMode": 0o600, "sources": [*sources]}}


def _key(reference: Mapping[str, Any], path: str) -> Spec:
    return {"secret": {"name": reference.get("name"), "items": [{"key": reference.get("key"), "path": path}]}}


def _logfile(name: str) -> Spec:
    env = [{"name": "SOCKET", "value": f"/var/log/slurm/{name}.log"}]
    mounts = [mount("slurm-logfile", "/var/log/slurm", read_only=False)]
    return {"name": "logfile", "command": ["sh"], "env": env, "restartPolicy": "Always", "volumeMounts": mounts}


def _http(port: str) -> Spec:
    """Probes of slurmctld and slurmd."""
    live = {"httpGet": {"path": "/livez", "port": port}, "failureThreshold": 6, "periodSeconds": 10}
    return {"startupProbe": live, "livenessProbe": live, "readinessProbe": {"httpGet": {"path": "/readyz", "port": port}}}


def _controller(config: StackConfig, each: Resource) -> Spec:
    restarts = config.operator_version.prunes_slurm_conf
    cluster, reference = each.spec["clusterName"], each.spec
    mounts = [
        mount(_ETC, "/etc/slurm"),
        mount("run", "/run", read_only=False),
        mount(_STATE, f"/var/spool/slurmctld/{cluster}", read_only=False),
        mount("slurm-authsocket", "/run/slurmctld", read_only=False),
        mount("slurm-logfile", "/var/log/slurm", read_only=False),
    ]
    own = {"name": "slurmctld", "ports": _ports("slurmctld", 6817), **_http("slurmctld"), "volumeMounts": mounts}
    kept = each.spec.get("persistence", {})
    volumes = [
        _files(_ETC, {"configMap": {"name": f"{each.name}-config"}}, _key(reference["slurmKeyRef"], "slurm.key")),
        _memory("slurm-logfile"),
        _memory("run"),
        {"name": "slurm-authsocket", "emptyDir": {}},
    ]
    if kept.get("existingClaim"):
        volumes.append({"name": _STATE, "persistentVolumeClaim": {"claimName": kept["existingClaim"]}})
    elif not kept.get("enabled", True):
        volumes.append({"name": _STATE, "emptyDir": {}})
    return {
        "automountServiceAccountToken": False,
        "containers": [own | raw_merge.own("controller", "container")],
        # From 1.2 on there is none where slurmctld's pod restarts for new files (controllerPodTemplate).
        "initContainers": [*([] if restarts else [_reconfigure()]), _logfile("slurmctld")],
        **raw_merge.own("controller", "pod"),
        "volumes": volumes,
    }


def _reconfigure() -> Spec:
    mounts = [mount(_ETC, "/etc/slurm"), mount("slurm-authsocket", "/run/slurmctld")]
    return {"name": "reconfigure", "command": ["tini"], "restartPolicy": "Always", "volumeMounts": mounts}


def _accounting(_: StackConfig, each: Resource) -> Spec:
    mounts = [mount(_ETC, "/etc/slurm"), mount("run", "/run", read_only=False)]
    own: Spec = {"name": "slurmdbd", "ports": _ports("slurmdbd", 6819), "volumeMounts": mounts}
    conf = {"secret": {"name": f"{each.name}-accounting", "items": [{"key": "slurmdbd.conf", "path": "slurmdbd.conf"}]}}
    return {
        "automountServiceAccountToken": False,
        "containers": [
            own | {"readinessProbe": {"tcpSocket": {"port": 6819}}} | raw_merge.own("accounting", "container"),
        ],
        **raw_merge.own("accounting", "pod"),
        "volumes": [_files(_ETC, conf, _key(each.spec["slurmKeyRef"], "slurm.key")), _memory("run")],
    }


def _restapi(config: StackConfig, each: Resource) -> Spec:
    listens = {"tcpSocket": {"port": 6820}}
    own = {
        "name": "slurmrestd",
        "env": [{"name": "SLURM_JWT", "value": "daemon"}, {"name": "SLURMRESTD_SECURITY", "value": "disable_unshare_files"}],
        "ports": _ports("slurmrestd", 6820),
        "startupProbe": listens,
        "livenessProbe": listens,
        "readinessProbe": listens,
        **raw_merge.own("restapi", "container"),
        "volumeMounts": [mount(_ETC, "/etc/slurm")],
    }
    return {
        "automountServiceAccountToken": False,
        "containers": [own],
        **raw_merge.own("restapi", "pod"),
        "volumes": [_files(_ETC, {"configMap": {"name": f"{each.name}-config"}}, _slurm_key(config))],
    }


def _slurm_key(config: StackConfig) -> Spec:
    return _key(controller_spec(config)["slurmKeyRef"], "slurm.key")


def _nodeset(config: StackConfig, each: Resource) -> Spec:
    ssh = each.spec.get("ssh", {}).get("enabled", False)
    mounts = [mount(_ETC, "/etc/slurm"), mount("slurm-logfile", "/var/log/slurm", read_only=False)]
    volumes = [_files(_ETC, _slurm_key(config)), _memory("slurm-logfile")]
    if ssh:
        mounts += [mount("ssh-config", "/etc/ssh/sshd_config", "sshd_config"), _sssd_mount()]
        volumes += [_files("ssh-config", {"configMap": {"name": f"{each.name}-ssh-config"}}), _sssd(each.spec["ssh"])]
    env = [{"name": "POD_TOPOLOGY", "valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{_TOPOLOGY}']"}}}]
    env += [{"name": "POD_CPUS", "value": "0"}, {"name": "POD_MEMORY", "value": "0"}]
    own = {
        "name": "slurmd",
        "args": ["-Z"],
        "env": env if config.operator_version.drops_empty_values else [],
        "ports": _ports("slurmd", 6818, *([22] if ssh else [])),
        **_http("slurmd"),
        **raw_merge.own("nodesets", "container"),
        "lifecycle": {"preStop": {"exec": {"command": ["/usr/bin/sh"]}}},
        "volumeMounts": mounts,
    }
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "containers": [own],
        "initContainers": [_logfile("slurmd")],
        "subdomain": _workers(config),
        "dnsConfig": _searches(config),
        "volumes": volumes,
        "tolerations": [{"key": "nodeset.slinky.slurm.net/worker", "operator": "Equal", "effect": "NoExecute"}],
    }


_TOPOLOGY: Final = "topology.slinky.slurm.net/spec"


def _loginset(config: StackConfig, each: Resource) -> Spec:
    keys = [f"ssh_host_{kind}_key{end}" for kind in _SSH_KEYS for end in ("", ".pub")]
    mounts = [mount(_ETC, "/etc/slurm"), mount("sackd-dir", "/run/slurm", read_only=False)]
    mounts += [mount("ssh-host-keys", f"/etc/ssh/{file}", file) for file in keys]
    mounts += [
        mount("ssh-config", "/etc/ssh/sshd_config", "sshd_config"),
        mount("ssh-config", f"{_ROOT}/.ssh/authorized_keys", "authorized_keys"),
        _sssd_mount(),
    ]
    ssh: Spec = next((port for port in each.spec["login"].get("ports", []) if port.get("name") == "login"), {})
    own = {
        "name": "login",
        "env": [{"name": "SACKD_OPTIONS", "value": "--conf-server slurmctld:6817"}],
        "ports": _ports("login", ssh.get("containerPort") or 22),
        "readinessProbe": {"exec": {"command": ["test"]}},
        "volumeMounts": mounts,
    }
    first = [mount(_ETC, "/mnt/etc/slurm", read_only=False), mount("slurm-config", "/mnt/slurm")]
    init = {
        "name": "initconf",
        "command": ["sh"],
        "env": [{"name": "SLURM_USER", "value": names.SLURM_USER}],
        "volumeMounts": first,
    }
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "containers": [own],
        "initContainers": [init],
        "dnsConfig": _searches(config),
        "volumes": [
            _memory(_ETC),
            _memory("sackd-dir"),
            _files("slurm-config", _slurm_key(config)),
            _files("ssh-host-keys", {"secret": {"name": f"{each.name}-ssh-host-keys"}}),
            _files("ssh-config", {"configMap": {"name": f"{each.name}-ssh-config"}}),
            _sssd(each.spec),
        ],
    }


def _workers(config: StackConfig) -> str:
    """The Service of all workers, without an address of its own."""
    return f"slurm-workers-{config.cluster.resource_name}"


def _searches(config: StackConfig) -> Spec:
    """How pods find workers by their names."""
    return {"searches": [f"{_workers(config)}.{config.cluster.namespace}.svc.cluster.local"]}


def _sssd(spec: Mapping[str, Any]) -> Spec:
    return _files("sssd-conf", _key(spec.get("sssdConfRef", {}), "sssd.conf"))


def _sssd_mount() -> Spec:
    return mount("sssd-conf", "/etc/sssd/sssd.conf", "sssd.conf")


_BASES: Final[Mapping[str, Callable[[StackConfig, Resource], Spec]]] = {
    "Controller": _controller,
    "Accounting": _accounting,
    "RestApi": _restapi,
    "NodeSet": _nodeset,
    "LoginSet": _loginset,
}
"""What the operator itself gives a pod of each kind."""
