"""What slurm-operator itself gives a pod of each custom resource, before a stack's pieces are laid over it. Pure.

Source: ``internal/builder`` of 1.0.1 to 1.2.1, whose own functions make the same pods of the same custom resources
(tests/unit/specs/test_operator_pods.py). Left out: texts of scripts, and hashes in annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac import names
from slinky_iac.config.operator import raw_merge
from slinky_iac.config.operator.own_pieces import ETC, SSH_KEYS, STATE, Mount, OwnPieces, own_pieces
from slinky_iac.config.raw import Raw
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.registry import REFERENCES
from slinky_iac.specs.daemons import controller_spec
from slinky_iac.specs.endpoints import slurmctld_target
from slinky_iac.specs.shared import Spec, mount

_PRIVATE, _PUBLIC = 0o600, 0o644


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

    @property
    def workload(self) -> str:
        """Name of what makes its pods: a StatefulSet for the Controller and the Accounting."""
        own = {"Controller": names.controller_service, "Accounting": names.accounting_service}
        return own[self.kind](self.name) if self.kind in own else self.name


def base_of(config: StackConfig, resource: Resource) -> Spec:
    """The pod's spec as the operator has it, with its containers' own pieces, each by its name."""
    return {"automountServiceAccountToken": False, **_BASES[resource.kind](config, resource)}


def _port(name: str, number: int) -> Spec:
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def _memory(name: str) -> Spec:
    return {"name": name, "emptyDir": {"medium": "Memory"}}


def _files(name: str, *sources: Spec, mode: int = _PRIVATE) -> Spec:
    return {"name": name, "projected": {"defaultMode": mode, "sources": [*sources]}}


def _item(key: object, path: str, mode: int | None = None) -> Spec:
    return {"key": key, "path": path, **({} if mode is None else {"mode": mode})}


def _key(reference: Mapping[str, Any], path: str, mode: int | None = None) -> Spec:
    return {"secret": {"name": reference.get("name"), "items": [_item(reference.get("key"), path, mode)]}}


def _keys(config: StackConfig, spec: Mapping[str, Any]) -> list[Spec]:
    """Both keys, for slurmctld and slurmdbd."""
    field = config.operator_version.jwt_ref_field
    file = "jwt_hs256.key" if config.operator_version.minor == 0 else "jwt.key"
    return [_key(spec["slurmKeyRef"], "slurm.key"), _key(spec[field], file)]


def _public_files(spec: Mapping[str, Any]) -> list[Spec]:
    named = ((spec[field], key.bundle) for field, key in REFERENCES.items() if field in spec)
    return [
        {"configMap": {"name": reference["name"], "items": [_item(reference["key"], file)]}} for reference, file in named
    ]


def _mounted(own: Iterable[Mount]) -> list[Spec]:
    return [mount(place.volume, place.path, place.entry, read_only=not place.writes) for place in own]


def _logfile(own: OwnPieces) -> Spec:
    env = [{"name": "SOCKET", "value": f"/var/log/slurm/{own.container}.log"}]
    mounts = _mounted(own.before["logfile"])
    return {"name": "logfile", "command": ["sh", "-c"], "env": env, "restartPolicy": "Always", "volumeMounts": mounts}


_OFTEN: Final = {"failureThreshold": 6, "periodSeconds": 10}


def _http(port: str) -> Spec:
    """Probes of slurmctld and slurmd."""
    live = {"httpGet": {"path": "/livez", "port": port}, **_OFTEN}
    return {"startupProbe": live, "livenessProbe": live, "readinessProbe": {"httpGet": {"path": "/readyz", "port": port}}}


def _controller(config: StackConfig, resource: Resource) -> Spec:
    spec = resource.spec
    pieces = own_pieces(config.operator_version, "controller", cluster=spec["clusterName"])
    own = {"name": "slurmctld", "ports": [_port("slurmctld", 6817)], **_http("slurmctld")}
    own["volumeMounts"] = _mounted(pieces.mounts)
    files = sorted(
        one["name"] for field in ("configFileRefs", "prologScriptRefs", "epilogScriptRefs") for one in spec.get(field, ())
    )
    etc = [{"configMap": {"name": f"{resource.name}-config"}}, *_keys(config, spec)]
    etc += [{"configMap": {"name": name}} for name in files]
    return {
        "containers": [own | raw_merge.own("controller", "container")],
        "initContainers": [_reconfigure(pieces) if name == "reconfigure" else _logfile(pieces) for name in pieces.before],
        **raw_merge.own("controller", "pod"),
        "volumes": [
            _files(ETC, *etc, *_public_files(spec), mode=0o610),
            _memory("slurm-logfile"),
            _memory("run"),
            {"name": "slurm-authsocket", "emptyDir": {}},
        ],
    }


def _reconfigure(own: OwnPieces) -> Spec:
    mounts = _mounted(own.before["reconfigure"])
    command = ["tini", "-g", "--", "bash", "-c"]
    return {"name": "reconfigure", "command": command, "restartPolicy": "Always", "volumeMounts": mounts}


def state_of(spec: Mapping[str, Any]) -> list[Spec]:
    """slurmctld's volume of its state, where no claim is made for it; the operator lays it behind all others."""
    kept = spec.get("persistence", {})
    if not kept.get("enabled", True):
        return [{"name": STATE, "emptyDir": {}}]
    claim = kept.get("existingClaim")
    return [{"name": STATE, "persistentVolumeClaim": {"claimName": claim}}] if claim else []


def _accounting(config: StackConfig, resource: Resource) -> Spec:
    mounts = _mounted(own_pieces(config.operator_version, "accounting").mounts)
    own: Spec = {"name": "slurmdbd", "ports": [_port("slurmdbd", 6819)], "volumeMounts": mounts}
    conf = {"secret": {"name": f"{resource.name}-accounting", "items": [_item("slurmdbd.conf", "slurmdbd.conf")]}}
    return {
        "containers": [
            own | {"readinessProbe": {"tcpSocket": {"port": 6819}}} | raw_merge.own("accounting", "container"),
        ],
        **raw_merge.own("accounting", "pod"),
        "volumes": [_files(ETC, conf, *_keys(config, resource.spec), *_public_files(resource.spec)), _memory("run")],
    }


def _restapi(config: StackConfig, resource: Resource) -> Spec:
    listens = {"tcpSocket": {"port": 6820}}
    security = "disable_unshare_files,disable_unshare_sysv"
    own = {
        "name": "slurmrestd",
        "env": [{"name": "SLURM_JWT", "value": "daemon"}, {"name": "SLURMRESTD_SECURITY", "value": security}],
        "args": [] if config.accounting.enabled else ["-s", "openapi/slurmctld"],
        "ports": [_port("slurmrestd", 6820)],
        "startupProbe": listens | _OFTEN,
        "livenessProbe": listens | _OFTEN,
        "readinessProbe": listens,
        **raw_merge.own("restapi", "container"),
        "volumeMounts": _mounted(own_pieces(config.operator_version, "restapi").mounts),
    }
    conf = {"configMap": {"name": f"{resource.name}-config", "items": [_item("slurm.conf", "slurm.conf")]}}
    return {
        "containers": [own],
        **raw_merge.own("restapi", "pod"),
        "volumes": [_files(ETC, conf, _slurm_key(config))],
    }


def _slurm_key(config: StackConfig) -> Spec:
    return _key(controller_spec(config)["slurmKeyRef"], "slurm.key")


def _configless(config: StackConfig) -> list[str]:
    """``ConfiglessArgs``."""
    target, name = slurmctld_target(config), config.cluster.resource_name
    host = names.controller_fqdn(name, config.cluster.namespace) if target is None else target.host
    return ["--conf-server", f"{host}:{names.SLURMCTLD_PORT if target is None else target.port}"]


def _node_conf(spec: Mapping[str, Any]) -> list[str]:
    """``slurmdConfArgs``: parameters of the node, where the NodeSet's name is a feature."""
    hostname = str(spec["template"]["spec"]["hostname"]).strip("-")
    parameters = {"Features": hostname}
    for item in str(spec.get("extraConf", "")).split():
        key, _, value = item.partition("=")
        key = "Features" if key.lower() in {"feature", "features"} else key.capitalize()
        parameters[key] = f"{parameters[key]},{value}" if key in parameters else value
    return ["--conf", f"'{' '.join(sorted(f'{key}={value}' for key, value in parameters.items()))}'"]


def _nodeset(config: StackConfig, resource: Resource) -> Spec:
    ssh = resource.spec.get("ssh", {}).get("enabled", False)
    pieces = own_pieces(config.operator_version, "nodesets", ssh=ssh)
    volumes = [_files(ETC, _slurm_key(config)), _memory("slurm-logfile")]
    if ssh:
        volumes += [_sshd(resource, "sshd_config"), _sssd(resource.spec["ssh"])]
    place = {"fieldRef": {"fieldPath": f"metadata.annotations['{_TOPOLOGY}']"}}
    env: list[Spec] = [{"name": config.operator_version.topology_variable, "valueFrom": place}]
    env += [{"name": "POD_CPUS", "value": "0"}, {"name": "POD_MEMORY", "value": "0"}]
    own = {
        "name": "slurmd",
        "args": ["-Z", *_configless(config), *_node_conf(resource.spec)],
        "env": env if config.operator_version.drops_empty_values else [],
        "ports": [_port("slurmd", 6818), *([_port("ssh", 22)] if ssh else [])],
        **_http("slurmd"),
        **raw_merge.own("nodesets", "container"),
        "lifecycle": {"preStop": {"exec": {"command": ["/usr/bin/sh", "-c"]}}},
        "volumeMounts": _mounted(pieces.mounts),
    }
    return {
        "enableServiceLinks": False,
        "containers": [own],
        "initContainers": [_logfile(pieces)],
        "subdomain": _workers(config),
        "dnsConfig": _searches(config),
        "volumes": volumes,
        "tolerations": [{"key": "nodeset.slinky.slurm.net/worker", "operator": "Equal", "effect": "NoExecute"}],
    }


_TOPOLOGY: Final = names.ANNOTATION_TOPOLOGY


def _loginset(config: StackConfig, resource: Resource) -> Spec:
    pieces = own_pieces(config.operator_version, "logins")
    own = {
        "name": "login",
        "env": [{"name": "SACKD_OPTIONS", "value": " ".join(_configless(config))}],
        "ports": [_port("login", 22)],
        "readinessProbe": {"exec": {"command": ["test", "-S", "/run/slurm/sack.socket"]}},
        "volumeMounts": _mounted(pieces.mounts),
    }
    init = {
        "name": "initconf",
        "command": ["sh", "-c"],
        "env": [{"name": "SLURM_USER", "value": names.SLURM_USER}],
        "volumeMounts": _mounted(pieces.before["initconf"]),
    }
    items = [_item(file, file, _PUBLIC if file.endswith(".pub") else _PRIVATE) for file in SSH_KEYS]
    return {
        "enableServiceLinks": False,
        "containers": [own],
        "initContainers": [init],
        "dnsConfig": _searches(config),
        "volumes": [
            _memory(ETC),
            _memory("sackd-dir"),
            _files("slurm-config", _slurm_key(config)),
            _files("ssh-host-keys", {"secret": {"name": f"{resource.name}-ssh-host-keys", "items": items}}),
            _sshd(resource, "sshd_config", "authorized_keys"),
            _sssd(resource.spec),
        ],
    }


def _workers(config: StackConfig) -> str:
    """The Service of all workers, without an address of its own."""
    return f"slurm-workers-{config.cluster.resource_name}"


def _searches(config: StackConfig) -> Spec:
    """How pods find workers by their names."""
    return {"searches": [f"{_workers(config)}.{config.cluster.namespace}.svc.cluster.local"]}


def _sshd(resource: Resource, *files: str) -> Spec:
    items = [_item(file, file, _PRIVATE) for file in files]
    return _files("ssh-config", {"configMap": {"name": f"{resource.name}-ssh-config", "items": items}})


def _sssd(spec: Mapping[str, Any]) -> Spec:
    return _files("sssd-conf", _key(spec.get("sssdConfRef", {}), "sssd.conf", _PRIVATE))


_BASES: Final[Mapping[str, Callable[[StackConfig, Resource], Spec]]] = {
    "Controller": _controller,
    "Accounting": _accounting,
    "RestApi": _restapi,
    "NodeSet": _nodeset,
    "LoginSet": _loginset,
}
"""What the operator itself gives a pod of each kind."""
