"""Rules of raw pieces: Kubernetes' own types judge them, and what a setting or the operator owns is refused by its name.

Source: slurm-operator ``internal/builder`` (what it sets itself), ``api/v1beta1`` of 1.0.1 to 1.2.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from slinky_iac.config import kubernetes_types, raw_fields
from slinky_iac.config.findings import NOTHING, Finding, at, use
from slinky_iac.config.pod_places import covers, is_reserved, runs_code
from slinky_iac.config.raw import Raw
from slinky_iac.config.raw_fields import Way
from slinky_iac.config.rules_secrets import is_secret
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import StackConfig

_OPERATORS: Final = f"{NOTHING}it is the operator's own"
_ENDS_JOBS: Final = f"{NOTHING}it ends pods with running jobs, which no gate drains"
_IN_SIGHT: Final = f"{NOTHING}other processes of the pod or the node are in sight by it, with their keys"
_ELSEWHERE: Final = f"{NOTHING}names of daemons would lead to other hosts, with their tokens"
_TOKEN: Final = f"{NOTHING}jobs would have its token"
_POD: Final[Mapping[str, str]] = {
    "activeDeadlineSeconds": _ENDS_JOBS,
    "affinity": "pod.affinity",
    "automountServiceAccountToken": _TOKEN,
    "containers": "raw.container for the daemon's own; the operator makes the others",
    "dnsConfig.nameservers": _ELSEWHERE,
    "dnsConfig.searches": _ELSEWHERE,
    "ephemeralContainers": "kubectl debug: a template has none",
    "hostAliases": _ELSEWHERE,
    "hostIPC": _IN_SIGHT,
    "hostNetwork": "pod.hostNetwork",
    "hostPID": _IN_SIGHT,
    "hostname": _OPERATORS,
    "imagePullSecrets": "cluster.images.pullSecrets",
    "nodeName": "pod.nodeSelector",
    "nodeSelector": "pod.nodeSelector",
    "priorityClassName": "pod.priorityClass",
    "restartPolicy": _OPERATORS,
    "serviceAccount": _TOKEN,
    "serviceAccountName": _TOKEN,
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
    "resources.limits": "resources",
    "resources.requests": "resources",
    "startupProbe": _OPERATORS,
    "livenessProbe": _OPERATORS,
    "readinessProbe": _OPERATORS,
}
_SERVICE: Final[Mapping[str, str]] = {
    "externalIPs": "service.type: any address could be taken over by it, and the operator drops it",
    "ports": _OPERATORS,
    "selector": _OPERATORS,
    "type": "service.type",
}
OWNED: Final[Mapping[str, Mapping[str, str]]] = {"PodSpec": _POD, "Container": _CONTAINER, "ServiceSpec": _SERVICE}
"""What raw pieces don't take, by Kubernetes' types, and what to use instead."""
_WITH_VOLUMES: Final[Mapping[str, str]] = {"volumes": "volumes"}
_ARGUMENTS: Final[Mapping[str, Mapping[str, bool]]] = {
    "controller": {"-n": True},
    "accounting": {"-n": True},
    "restapi": {"-t": True, "--max-connections": True},
    "nodesets": {"-M": False, **dict.fromkeys(("-n", "--extra", "--instance-id", "--instance-type", "--parameters"), True)},
}
"""Arguments of each daemon besides -v, and whether a value follows. The operator lays them behind its own, where the last
one counts: others name another node, file, server or user, or forget the jobs (slurmctld -c). Source: slurmctld(8),
slurmdbd(8), slurmrestd(8), slurmd(8); ``internal/builder/common/container.go``."""
_OWN_VARIABLES: Final = frozenset({"MALLOC_ARENA_MAX", "POD_CPUS", "POD_MEMORY", "POD_TOPOLOGY", "SLURM_SACK_JWKS"})


@dataclass(frozen=True)
class _Part:
    path: str
    raw: Raw
    section: str
    service: str = ""
    """Type of its Service; empty where it has none."""
    variables: frozenset[str] = frozenset()
    """Names of its setting ``env``."""

    @property
    def has_volumes(self) -> bool:
        """Whether it has a setting ``volumes``."""
        return self.section in {"nodesets", "logins"}


def _parts(config: StackConfig) -> Iterator[_Part]:
    yield _Part("controller", config.controller.raw, "controller", config.controller.service.type)
    yield _Part("accounting", config.accounting.raw, "accounting", config.accounting.service.type)
    yield _Part("restapi", config.restapi.raw, "restapi", config.restapi.service.type)
    for name, nodeset in config.nodesets.items():
        yield _Part(f"nodesets.{name}", nodeset.raw, "nodesets", variables=frozenset(nodeset.env))
    for name, login in config.logins.items():
        yield _Part(f"logins.{name}", login.raw, "logins", login.service.type)


def raw_pieces(config: StackConfig) -> Iterator[tuple[str, Raw]]:
    """Each part that has raw pieces: its path, and these."""
    return ((part.path, part.raw) for part in _parts(config))


def _owned(path: str, piece: Mapping[str, Any], owned: Mapping[str, str]) -> Iterator[Finding]:
    for field, setting in owned.items():
        outer, _, inner = field.partition(".")
        held = piece.get(outer)
        if outer in piece and (not inner or (isinstance(held, Mapping) and inner in held)):
            yield at(f"{path}.{field}").error(f"isn't taken here: {use(setting, 'use {}')}")


def _raw(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    keys = {each.name for each in config.key_entries}
    for part in _parts(config):
        raw, path = part.raw, f"{part.path}.raw"
        more = _WITH_VOLUMES if part.has_volumes else {}
        yield from _owned(f"{path}.pod", raw.pod, {**_POD, **more})
        mounts = {"volumeMounts": "volumes"} if part.has_volumes else {}
        privileged = {"securityContext.privileged": "privileged" if part.section == "nodesets" else _IN_SIGHT}
        yield from _owned(f"{path}.container", raw.container, {**_CONTAINER, **mounts, **privileged})
        yield from _owned(f"{path}.service", raw.service, _SERVICE)
        if part.section == "nodesets" and raw.service:
            yield at(f"{path}.service").error("has no effect: a NodeSet has no Service of its own. Remove it")
        pieces = (
            ("pod", "PodSpec", raw.pod),
            ("container", "Container", raw.container),
            ("service", "ServiceSpec", {**raw.service, **({"type": part.service} if raw.service else {})}),
        )
        for name, kind, piece in pieces:
            for below, why in kubernetes_types.faults(kind, piece):
                yield at(f"{path}.{name}" + below.replace("[", ".").replace("]", "")).error(why)
        yield from _variables(part, f"{path}.container.env")
        yield from _arguments(part, f"{path}.container.args")
        yield from _of_spec(part, f"{path}.spec", config.operator_version.line)
        yield from _folders(part, f"{path}.pod.volumes", keys)
        yield from _mounts(part, path)
        yield from _keys_in_variables(part, path, keys)


def _containers(part: _Part) -> list[tuple[Mapping[str, Any], str]]:
    """The daemon's own container and those that run before it, each with its place below ``raw``."""
    before = [(each, "pod.initContainers") for each in _listed(part.raw.pod, "initContainers")]
    return [(part.raw.container, "container"), *before]


def _keys_in_variables(part: _Part, path: str, keys: set[str]) -> Iterator[Finding]:
    """A key is as readable in a variable as in a volume: by root of the container, and in /proc of its processes."""
    for container, where in _containers(part):
        for field in ("env", "envFrom"):
            if any(keys & set(_texts(each)) for each in _listed(container, field)):
                yield at(f"{path}.{where}.{field}").error(
                    "has a Secret with a key of the cluster: who reads this container's variables could"
                    " act as Slurm's admin. Remove it"
                )


def _variables(part: _Part, path: str) -> Iterator[Finding]:
    env = part.raw.container.get("env")
    for each in env if isinstance(env, list) else ():
        name = str(each.get("name", "")) if isinstance(each, Mapping) else ""
        if runs_code(name):
            yield at(path).error(
                f"has {name_of(name)}: with it a daemon would run other code, or ask another host. Remove it"
            )
        elif name in _OWN_VARIABLES or name in part.variables:
            yield at(path).error(f"has {name_of(name)}, which is set already: Kubernetes takes the last of two. Remove one")
        elif isinstance(each, Mapping) and each.get("value") and is_secret(name):
            yield at(path).error(
                f"has {name_of(name)}, which is named like a secret: everyone who sees the pod can read its value. Use"
                " valueFrom.secretKeyRef"
            )


def _arguments(part: _Part, path: str) -> Iterator[Finding]:
    known = _ARGUMENTS.get(part.section, {})
    given = part.raw.container.get("args")
    words = [str(each) for each in given] if isinstance(given, list) else []
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


def _of_spec(part: _Part, path: str, line: str) -> Iterator[Finding]:
    kind = raw_fields.KINDS[part.section]
    for below, why in kubernetes_types.faults(kind, part.raw.spec, line=line):
        yield at(path + below.replace("[", ".").replace("]", "")).error(why)
    for field, of, piece in _claims(part.raw.spec):
        for below, why in kubernetes_types.faults(of, piece):
            yield at(f"{path}.{field}" + below.replace("[", ".").replace("]", "")).error(why)
    if part.section == "controller" and _mode_of(part.raw.spec) == "Block":
        yield at(f"{path}.persistence.volumeMode").error("is Block, and slurmctld's state is in a folder. Leave it out")
    for below, found in raw_fields.given(part.raw.spec, kind):
        if found is None:
            continue
        if found.way is Way.CLOSED:
            yield at(f"{path}.{below}").error(found.words)
        elif not found.words.startswith("raw.spec."):
            yield at(f"{path}.{below}").error(f"isn't taken here: use {found.words}")


def _claims(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, object]]:
    """Claims in a raw spec, of which the CRDs check less than Kubernetes does: each with its field and its type."""
    if (kept := spec.get("persistence")) is not None:
        yield "persistence", "PersistentVolumeClaimSpec", kept
    several = spec.get("volumeClaimTemplates")
    own = {"apiVersion", "kind"}
    if isinstance(several, list):
        several = [
            {k: v for k, v in each.items() if k not in own} if isinstance(each, Mapping) else each for each in several
        ]
    yield "volumeClaimTemplates", "[PersistentVolumeClaimTemplate]", several


def _mode_of(spec: Mapping[str, Any]) -> object:
    kept = spec.get("persistence")
    return kept.get("volumeMode") if isinstance(kept, Mapping) else None


def _folders(part: _Part, path: str, keys: set[str]) -> Iterator[Finding]:
    for each in _listed(part.raw.pod, "volumes"):
        if "hostPath" in each:
            yield at(path).error("has a hostPath: a daemon's pod would have a folder of its Kubernetes node. Use a claim")
        projected = each.get("projected")
        if isinstance(projected, Mapping) and any(
            "serviceAccountToken" in source for source in _listed(projected, "sources")
        ):
            yield at(path).error("has a serviceAccountToken: jobs and users would have the pod's token. Remove it")
        if is_reserved(str(each.get("name"))):
            yield at(path).error(f"has {name_of(str(each.get('name')))}, the name of one with keys or settings. Rename it")
        if keys & set(_texts(each)):
            yield at(path).error(
                "has a Secret with a key of the cluster: containers beside the daemon could read it. Remove it"
            )


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _texts(part)


def _mounts(part: _Part, path: str) -> Iterator[Finding]:
    """Mounts of the daemon's own container, and volumes of others beside it."""
    for each in _listed(part.raw.container, "volumeMounts"):
        place = str(each.get("mountPath", ""))
        if covers(place):
            yield at(f"{path}.container.volumeMounts").error(
                f"has {name_of(place)}, where the daemon's settings, keys or programs are: others would take their place."
                " Mount it elsewhere"
            )
    for container, where in _containers(part):
        field = ".volumeMounts" if where == "container" else ""
        for each in _listed(container, "volumeMounts"):
            if is_reserved(str(each.get("name"))):
                yield at(f"{path}.{where}{field}").error(
                    f"mounts {name_of(str(each.get('name')))}, which holds keys or settings"
                )
    for each in _listed(part.raw.spec, "volumeClaimTemplates"):
        meta = each.get("metadata")
        if isinstance(meta, Mapping) and is_reserved(str(meta.get("name"))):
            yield at(f"{path}.spec.volumeClaimTemplates").error(
                f"has a claim named {name_of(str(meta['name']))}, the name of a volume in which a daemon finds keys or"
                " settings. Give the claim another name"
            )


def _listed(value: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    found = value.get(field)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


RULES = (_raw,)
