"""What the chart says itself where a file of values says nothing, or not all. Pure.

Source: ``helm/slurm/values.yaml`` and ``templates/_helpers.tpl`` of slurm-operator v1.0.5, v1.1.2, v1.2.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from slinky_iac.config.chart.translation import merged
from slinky_iac.config.paths import mapping, value_at
from slinky_iac.config.shown import name_of, place
from slinky_iac.releases import LINES
from slinky_iac.text import some

_LOGIN: Final = {"service": {"spec": {"type": "LoadBalancer"}}}
IMPLIED: Final[Mapping[str, Any]] = {
    "accounting": {"enabled": False},
    "nodesetDefaults": {"enabled": True},
    "loginsetDefaults": {"enabled": True, **_LOGIN},
}
"""Defaults of every release that mean something else than the settings' own."""
OF_A_SET: Final[Mapping[str, Mapping[str, Any]]] = {
    "nodesets": {"replicas": 1, "partition": {"enabled": False}},
    "loginsets": {"replicas": 1},
}
"""What is so of a set whose values have no such key, or null: the CRD's default number, and no partition, since the
templates leave the block out and the operator reads false (the CRD's default is of a block's field)."""
BEFORE_1_2: Final[Mapping[str, Any]] = {
    "nodesets": {"slinky": {"enabled": True, "replicas": 1, "partition": {"enabled": False}}},
    "loginsets": {"slinky": {"enabled": False}},
    "partitions": {
        "all": {"enabled": True, "nodesets": ["ALL"], "configMap": {"State": "UP", "Default": "YES", "MaxTime": "UNLIMITED"}}
    },
}
"""What 1.0 and 1.1 also make. Helm lays a file over it, so it is made beside NodeSets of other names."""
ALL: Final[Mapping[str, Any]] = {"nodesets": ["ALL"], "configMap": {"Default": "YES", "MaxTime": "UNLIMITED"}}
"""What the chart says of its partition ``all`` from 1.2 on, where the values switch it on."""
_OF_CHART: Final = "slinky"
"""The NodeSet and the login set that 1.0 and 1.1 have defaults of; there others have none."""
_DAEMONS: Final = (
    ("controller", "slurmctld"), ("controller", "reconfigure"), ("accounting", "slurmdbd"), ("restapi", "slurmrestd"),
)  # fmt: skip
_OF_SETS: Final = {"nodesets": "slurmd", "loginsets": "login"}
_SIDECARS: Final = {"controller": "logfile", "nodesets": "logfile", "loginsets": "initconf"}
_SIDECAR_TAG: Final = "latest"
_CLASS: Final = "slurm-system-critical"
_NO_CLASS: Final = "slurm-priority-critical"
"""The class of pods where ``priorityClass.name`` is null or empty (``slurm.priorityClassName``)."""


def tags(whole: dict[str, Any], line: tuple[int, int]) -> None:
    """Give images that values name by their repository alone the chart's tag, which Helm gives them."""
    daemon = LINES[line[1]].image_tag
    for at, container in _DAEMONS:
        _tag(whole.get(at), container, daemon)
    _tag(whole.get("controller"), _SIDECARS["controller"], _SIDECAR_TAG)
    for sets, container in _OF_SETS.items():
        for name, pod_set in mapping(whole.get(sets)).items():
            if line >= (1, 2) or name == _OF_CHART:
                _tag(pod_set, container, daemon)
                _tag(pod_set, _SIDECARS[sets], _SIDECAR_TAG)


def _tag(part: object, container: str, tag: str) -> None:
    inner = part.get(container) if isinstance(part, dict) else None
    image = mapping(value_at(inner, ("image",)))
    if (
        isinstance(inner, Mapping)
        and isinstance(part, dict)
        and image.get("repository")
        and not {"tag", "digest"} & image.keys()
    ):
        part[container] = {**inner, "image": {**image, "tag": tag}}


def priority_class(whole: dict[str, Any]) -> Iterator[str]:
    """Give pods the class that the chart gives them where it is switched on without a name."""
    settings = mapping(whole.get("priorityClass"))
    if not settings.get("enabled") or settings.get("name"):
        return
    name = _NO_CLASS if "name" in settings else _CLASS
    whole["priorityClass"] = {**settings, "name": name}
    yield f"priorityClass.name by the chart's default: {name}. Such a PriorityClass must be there before `pulumi up`"


def whole_set(kind: str, common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A NodeSet or a login set with the defaults of all (``mergeOverwrite``): null takes a key away, a list is replaced."""
    return merged(OF_A_SET[kind], {key: value for key, value in merged(common, own).items() if value is not None})


def is_off(common: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Whether a set or a partition says that it isn't made. Helm's templates take null, 0 and what is empty for false, and
    any text for true."""
    return not own["enabled"] if "enabled" in own else not common.get("enabled", False)


def sssd_secrets(whole: dict[str, Any], line: tuple[int, int], left: list[tuple[str, str]]) -> Iterator[str]:
    """Name the Secret with sssd.conf in each login set and each NodeSet with ssh, where the chart makes it: its text may
    hold a password, so the stack can't."""
    ref, name = mapping(value_at(whole, ("sssd", "secretRef"))), str(whole["fullnameOverride"])
    if ref.get("name"):
        return
    if ref:
        whole["sssd"] = {**whole["sssd"], "secretRef": None}
        left += [(f"sssd.secretRef.{field}", "only name and key are read") for field in ref if field not in ("name", "key")]
        yield from ["sssd.secretRef.key: it is that of the Secret which the chart makes"] if ref.get("key") else []
    key, places = str(ref.get("key") or _SSSD_KEY), dict[str, list[str]]()
    own = _SSSD_KEY if line == (1, 0) else key
    for login, pod_set in mapping(whole.get("loginsets")).items():
        secret = f"{name}-login-{login}-sssd-conf" if line == (1, 0) else f"{name}-sssd-conf"
        pod_set["sssdConfRef"] = {"name": secret, "key": own}
        places.setdefault(secret, []).append(f"logins.{login}.sssdConfFrom")
    for nodeset, pod_set in mapping(whole.get("nodesets")).items():
        if isinstance(ssh := pod_set.get("ssh"), Mapping) and ssh.get("enabled"):
            pod_set["ssh"] = {**ssh, "sssdConfRef": {"name": f"{name}-sssd-conf", "key": own}}
            places.setdefault(f"{name}-sssd-conf", []).append(f"nodesets.{nodeset}.ssh.sssdConfFrom")
    for secret, fields in places.items():
        named, entry = name_of(secret), name_of(own)
        create = f"kubectl create secret generic {named} -n {name_of(str(whole['namespaceOverride']))}"
        yield (
            f"{some(map(place, fields), _MOST)}: Secret {named}, which the chart makes and the stack doesn't. Make it before"
            f" `pulumi up`: `{create} --from-file={entry}=sssd.conf`; where your users are in no directory service (LDAP,"
            f" AD), --from-literal={entry}='[sssd]'. A release that runs has it, and `helm uninstall` deletes it"
        )


_SSSD_KEY: Final = "sssd.conf"
_MOST: Final = 4
"""Settings that one note names."""
