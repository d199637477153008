"""Rules of raw pieces: Kubernetes' own types judge them, and what a setting or the operator owns is refused by its name.

Source: slurm-operator ``internal/builder`` (what it sets itself), ``api/v1beta1`` of 1.0.1 to 1.2.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac.config.findings import NOTHING, Finding, at, use
from slinky_iac.config.kubernetes import types as kubernetes_types
from slinky_iac.config.kubernetes.names import is_device
from slinky_iac.config.kubernetes.pieces import Piece, listed, mapped
from slinky_iac.config.operator import raw_fields
from slinky_iac.config.operator.raw_fields import Way
from slinky_iac.config.pieces import Part, parts
from slinky_iac.config.rules import pieces as rules_pieces
from slinky_iac.config.rules.secrets import key_secrets, mounted_secrets
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.registry import VOLUMES

_OPERATORS: Final = f"{NOTHING}it is the operator's own"
_ENDS_JOBS: Final = f"{NOTHING}it ends pods with running jobs, which no gate drains"
_IN_SIGHT: Final = f"{NOTHING}other processes of the pod or the node are in sight by it, with their keys"
_ELSEWHERE: Final = f"{NOTHING}names of daemons would lead to other hosts, with their tokens"
_TOKEN: Final = f"{NOTHING}jobs would have its token"
_ACCOUNT: Final = (
    f"{NOTHING}a cloud mounts a token of such an account into the pod (IRSA, workload identity), which jobs and users could"
    " read. Pull secrets are cluster.images.pullSecrets"
)
_LIVENESS: Final = ("livenessProbe", "startupProbe")
_POD: Final[Mapping[str, str]] = {
    "activeDeadlineSeconds": _ENDS_JOBS,
    "affinity": "pod.affinity",
    "automountServiceAccountToken": _TOKEN,
    "dnsConfig.nameservers": _ELSEWHERE,
    "dnsConfig.searches": _ELSEWHERE,
    "ephemeralContainers": "kubectl debug: a template has none",
    "hostAliases": _ELSEWHERE,
    "hostIPC": _IN_SIGHT,
    "hostNetwork": "pod.hostNetwork",
    "hostPID": _IN_SIGHT,
    "hostname": _OPERATORS,
    "hostnameOverride": _OPERATORS,
    "imagePullSecrets": "cluster.images.pullSecrets",
    "nodeName": "pod.nodeSelector",
    "nodeSelector": "pod.nodeSelector",
    "priority": "pod.priorityClass",
    "priorityClassName": "pod.priorityClass",
    "resources": "resources",
    "restartPolicy": _OPERATORS,
    "serviceAccount": _ACCOUNT,
    "serviceAccountName": _ACCOUNT,
    "setHostnameAsFQDN": _OPERATORS,
    "shareProcessNamespace": _IN_SIGHT,
    "subdomain": _OPERATORS,
    "terminationGracePeriodSeconds": "pod.terminationGrace",
    "tolerations": "pod.tolerations",
}
_CONTAINER: Final[Mapping[str, str]] = {
    "command": _OPERATORS,
    "image": "the image's own setting",
    "imagePullPolicy": "cluster.images.pullPolicy",
    "name": _OPERATORS,
    "restartPolicy": _OPERATORS,
    "restartPolicyRules": _OPERATORS,
    "startupProbe": _OPERATORS,
    "livenessProbe": _OPERATORS,
    "readinessProbe": _OPERATORS,
}
_SLURMD: Final[Mapping[str, str]] = {
    "lifecycle.preStop": f"{_OPERATORS}, and takes the node out of Slurm (DOWN) before its pod goes",
    "securityContext.privileged": "privileged",
}
_SERVICE: Final[Mapping[str, str]] = {
    "externalIPs": "service.type: any address could be taken over by it, and the operator drops it",
    "ports": _OPERATORS,
    "selector": _OPERATORS,
    "type": "service.type",
}
OWNED: Final[Mapping[str, Mapping[str, str]]] = {"PodSpec": _POD, "Container": _CONTAINER, "ServiceSpec": _SERVICE}
"""What raw pieces don't take, by Kubernetes' types, and what to use instead."""
_ARGUMENTS: Final[Mapping[str, Mapping[str, bool]]] = {
    "controller": {"-n": True},
    "accounting": {"-n": True},
    "restapi": {"-t": True, "--max-connections": True},
    "nodesets": {"-M": False, **dict.fromkeys(("-n", "--extra", "--instance-id", "--instance-type", "--parameters"), True)},
}
"""Arguments of each daemon besides -v, and whether a value follows. The operator lays them behind its own, where the last
one counts: others name another node, file, server or user, or forget the jobs (slurmctld -c). Source: slurmctld(8),
slurmdbd(8), slurmrestd(8), slurmd(8); ``internal/builder/common/container.go``."""


def _owned(path: str, piece: Mapping[str, Any], owned: Mapping[str, str]) -> Iterator[Finding]:
    for field, setting in owned.items():
        outer, _, inner = field.partition(".")
        held = piece.get(outer)
        if outer in piece and (not inner or (isinstance(held, Mapping) and inner in held)):
            yield at(f"{path}.{field}").not_taken(f"isn't taken here: {use(setting, 'use {}')}")


def _raw(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    keys, held = {key.name for key in config.key_entries}, {*key_secrets(config)}
    for part in parts(config):
        raw, path = part.raw, f"{part.path}.raw"
        yield from _owned(f"{path}.pod", raw.pod, _POD)
        slurmd = _SLURMD if part.section == "nodesets" else {}
        free = _LIVENESS if part.section == "logins" else ()  # a login pod has none of the operator's (loginContainer)
        owned = {field: setting for field, setting in _CONTAINER.items() if field not in free}
        yield from _owned(f"{path}.container", raw.container, {**owned, **slurmd})
        yield from _resources(part, f"{path}.container.resources")
        yield from _owned(f"{path}.service", raw.service, _SERVICE)
        if part.section == "nodesets" and raw.service:
            yield at(f"{path}.service").error("has no effect: a NodeSet has no Service of its own. Remove it")
        pieces = (
            ("pod", "PodSpec", raw.pod),
            ("container", "Container", _without_amounts(raw.container)),
            ("service", "ServiceSpec", {**raw.service, **({"type": part.service} if raw.service else {})}),
        )
        for name, kind, piece in pieces:
            for below, why in kubernetes_types.faults(kind, piece):
                field = re.split(r"[.\[]", below.lstrip("."), maxsplit=1)[0]
                if field in OWNED[kind] and not (kind == "Container" and field in free):
                    continue  # it isn't taken at all
                yield at(f"{path}.{name}" + below.replace("[", ".").replace("]", "")).error(why)
        yield from _arguments(part, f"{path}.container.args")
        yield from _of_spec(part, f"{path}.spec", config.operator_version.line)
        forbidden = _Forbidden(keys, held if part.section in {"nodesets", "logins"} else set())
        yield from _folders(part, f"{path}.pod.volumes", forbidden)
        yield from _mounts(part, path)
        yield from _keys_in_variables(part, path, forbidden)


@dataclass(frozen=True)
class _Forbidden:
    """Names of Secrets that a pod can't have."""

    keys: set[str]
    """Of the cluster's keys: they may stand nowhere."""
    held: set[str]
    """Of what daemons hold beside them: nothing may refer to them. The name itself may be a volume's, too."""

    def stands_in(self, piece: Piece) -> bool:
        """Whether a volume or a variable has one of them."""
        return not (self.keys.isdisjoint(_texts(piece)) and self.held.isdisjoint(mounted_secrets(piece)))


def _resources(part: Part, path: str) -> Iterator[Finding]:
    """Amounts that a setting has: CPUs and memory, and devices of a NodeSet."""
    for field in ("limits", "requests"):
        for name in mapped(part.raw.container, "resources", field):
            if name in {"cpu", "memory"} or (part.section == "nodesets" and is_device(str(name))):
                yield at(f"{path}.{field}.{name_of(str(name))}").error("isn't taken here: use resources")


def _without_amounts(container: Piece) -> Piece:
    """``container`` without what only counts beside `resources`: the whole pod's are judged (specs/refused.py)."""
    given = container.get("resources")
    if not isinstance(given, Mapping):
        return container
    return {
        **container,
        "resources": {field: setting for field, setting in given.items() if field not in {"limits", "requests"}},
    }


def _keys_in_variables(part: Part, path: str, forbidden: _Forbidden) -> Iterator[Finding]:
    """A key is as readable in a variable as in a volume: by root of the container, and in /proc of its processes."""
    for container, where in part.containers():
        for field in ("env", "envFrom"):
            if any(map(forbidden.stands_in, listed(container, field))):
                yield at(f"{path}.{where}.{field}").error(
                    "has a Secret with a key of the cluster: who reads this container's variables could"
                    " act as Slurm's admin. Remove it"
                )


def _arguments(part: Part, path: str) -> Iterator[Finding]:
    known = _ARGUMENTS.get(part.section, {})
    given = part.raw.container.get("args")
    words = [str(argument) for argument in given] if isinstance(given, list) else []
    is_value = False
    for number, word in enumerate(words):
        option, equals, _ = word.partition("=")
        if is_value:
            is_value = False
        elif option in known:
            is_value = known[option] and not equals
        elif not (known and re.fullmatch("-v+", option)):
            takes = ", ".join(["-v", *known]) if known else "none"
            yield at(path).error(
                f"has {name_of(option)}, which isn't taken here: it takes {takes}; with others a daemon"
                " would be another node, read other files, or forget jobs. Remove it"
            )
            is_value = option.startswith("-") and not equals and not "".join(words[number + 1 : number + 2]).startswith("-")


def _of_spec(part: Part, path: str, line: str) -> Iterator[Finding]:
    kind = raw_fields.KINDS[part.section]
    for below, why in kubernetes_types.faults(kind, part.raw.spec, line=line):
        yield at(path + below.replace("[", ".").replace("]", "")).error(why)
    for field, of, piece in _claims(part.raw.spec):
        for below, why in kubernetes_types.faults(of, piece):
            yield at(f"{path}.{field}" + below.replace("[", ".").replace("]", "")).error(why)
    labels = mapped(part.raw.spec, "service", "metadata").get("labels")
    for below, why in kubernetes_types.faults("ObjectMeta", {"labels": labels}):
        yield at(f"{path}.service.metadata{below}").error(why)
    yield from _templates(part, f"{path}.volumeClaimTemplates")
    if part.section == "controller" and _mode_of(part.raw.spec) == "Block":
        yield at(f"{path}.persistence.volumeMode").error("is Block, and slurmctld's state is in a folder. Leave it out")
    for below, rule in raw_fields.given(part.raw.spec, kind):
        if rule is None:
            continue
        if rule.way is Way.CLOSED:
            yield at(f"{path}.{below}").error(rule.words)
        elif not rule.words.startswith("raw.spec."):
            yield at(f"{path}.{below}").error(f"isn't taken here: use {rule.words}")


def _claims(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, object]]:
    """Claims in a raw spec, of which the CRDs check less than Kubernetes does: each with its field and its type."""
    if (kept := spec.get("persistence")) is not None:
        yield "persistence", "PersistentVolumeClaimSpec", kept
    several = spec.get("volumeClaimTemplates")
    own = {"apiVersion", "kind", "status"}
    if isinstance(several, list):
        several = [
            {k: v for k, v in claim.items() if k not in own} if isinstance(claim, Mapping) else claim for claim in several
        ]
    yield "volumeClaimTemplates", "[PersistentVolumeClaimTemplate]", several


def _templates(part: Part, path: str) -> Iterator[Finding]:
    """Claims that can't do what is meant, though each is right."""
    templates = listed(part.raw.spec, "volumeClaimTemplates")
    named = [str(mapped(template, "metadata").get("name")) for template in templates]
    for name in dict.fromkeys(name for name in named if named.count(name) > 1):
        yield at(path).error(f"has {name_of(name)} twice: the second one would never be made. Give it another name")
    mounts = {str(mount.get("name")) for mount in listed(part.raw.container, "volumeMounts")}
    mounted = mounts | {volume.name for volume in part.volumes or ()}
    for name, template in zip(named, templates, strict=True):
        if mapped(template, "spec").get("volumeMode") == "Block" and name in mounted:
            yield at(path).error(
                f"has {name_of(name)} with volumeMode: Block, which is mounted as a folder: kubelet starts no such pod."
                " Leave volumeMode out, or name it in raw.container.volumeDevices alone"
            )


def _mode_of(spec: Mapping[str, Any]) -> object:
    kept = spec.get("persistence")
    return kept.get("volumeMode") if isinstance(kept, Mapping) else None


def _folders(part: Part, path: str, forbidden: _Forbidden) -> Iterator[Finding]:
    for volume in listed(part.raw.pod, "volumes"):
        if "hostPath" in volume and part.volumes is None:
            yield at(path).error("has a hostPath: a daemon's pod would have a folder of its Kubernetes node. Use a claim")
        if _is_reserved(part, str(volume.get("name"))):
            yield at(path).error(
                f"has {name_of(str(volume.get('name')))}, the name of a volume that the pod has already, of the operator's"
                " or this program's, with keys, settings or logs. Rename it"
            )
        if forbidden.stands_in(volume):
            yield at(path).error(
                "has a Secret with a key of the cluster: containers beside the daemon could read it. Remove it"
            )


def _is_reserved(part: Part, volume: str) -> bool:
    return part.has_volume(volume) or volume.startswith(VOLUMES)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _texts(part)


def _mounts(part: Part, path: str) -> Iterator[Finding]:
    """Mounts of the daemon's own container, and volumes of others beside it."""
    for mount in listed(part.raw.container, "volumeMounts"):
        place = str(mount.get("mountPath", ""))
        if part.hides(place):
            yield at(f"{path}.container.volumeMounts").error(
                f"has {name_of(place)}, where the daemon's settings, keys or programs are: others would take their place."
                " Mount it elsewhere"
            )
    for container, where in part.containers():
        field = ".volumeMounts" if where == "container" else ""
        for mount in listed(container, "volumeMounts"):
            if _is_reserved(part, str(mount.get("name"))):
                yield at(f"{path}.{where}{field}").error(
                    f"mounts {name_of(str(mount.get('name')))}, {_reserved(where)}. Remove the mount, or give your volume"
                    " another name"
                )
    for template in listed(part.raw.spec, "volumeClaimTemplates"):
        meta = template.get("metadata")
        if isinstance(meta, Mapping) and _is_reserved(part, str(meta.get("name"))):
            yield at(f"{path}.spec.volumeClaimTemplates").error(
                f"has a claim named {name_of(str(meta['name']))}, the name of a volume in which a daemon finds keys or"
                " settings. Give the claim another name"
            )


def _reserved(where: str) -> str:
    """Why a container can't mount a volume of the daemon's."""
    if where == "container":
        return "a volume of the operator's, or of this program, which has its place there already"
    return "the name of a volume of the operator's with slurm.key, other keys or settings: another container would read it"


RULES = (_raw, *rules_pieces.RULES)
