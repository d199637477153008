"""A file of the chart's values as the chart itself reads it: defaults that count where the file says nothing, what it
switches off, and what two keys say together. What remains is translated key by key (:mod:`.translation`). Pure.

Source: ``helm/slurm/values.yaml`` and ``templates/`` of slurm-operator v1.0.5, v1.1.2, v1.2.1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from slinky_iac.config.chart.defaults import ALL, BEFORE_1_2, IMPLIED, is_off, priority_class, sssd_secrets, tags, whole_set
from slinky_iac.config.chart.refused import leave_refused
from slinky_iac.config.chart.said import Read, account
from slinky_iac.config.chart.switches import off, resolvers, sssd_beside, switched
from slinky_iac.config.chart.table import ROWS
from slinky_iac.config.chart.translation import NO_MAPPING, Path, is_empty, merged, row_of, rows_below, translate
from slinky_iac.config.chart.unread import SETS, Unread, read_by
from slinky_iac.config.chart.volumes import volumes
from slinky_iac.config.others import of_others
from slinky_iac.config.paths import mapping, value_at
from slinky_iac.config.shown import name_of
from slinky_iac.text import some

_ORDER: Final = (
    "cluster", "operator", "keys", "controller", "accounting", "restapi", "identity", "nodesets", "partitions", "logins"
)  # fmt: skip
_WORDS: Final = frozenset({row.at.partition(".")[0] for row in ROWS} | set(SETS.values()))
"""The first words of keys, as the chart spells them."""
_OFF: Final = "enabled is false, null or empty, so Helm makes none, and it isn't carried over"
_NO_NUMBER: Final = "with scalingMode: DaemonSet the chart doesn't read it: a pod runs on each Kubernetes node that fits"


def fullname(values: Mapping[str, Any], release: str) -> str:
    """The name that the chart gives its resources."""
    if given := values.get("fullnameOverride"):
        return str(given)[:63].rstrip("-")
    name = str(values.get("nameOverride") or "slurm")
    return (release if name in release else f"{release}-{name}")[:63].rstrip("-")


def read(values: Mapping[str, Any], *, release: str, namespace: str, line: tuple[int, int]) -> Read:
    """All settings. ``line``: the chart's release, as (1, 2)."""
    old = BEFORE_1_2 if line < (1, 2) else {}
    if line == (1, 0):  # there the chart's own NodeSet has a partition of its own
        old = merged(old, {"nodesets": {"slinky": {"partition": {"enabled": True}}}})
    notes: list[str] = []
    left: list[tuple[str, str]] = []
    unread = Unread()
    own = read_by(_shaped(values, (), left), line[1], unread)
    left += [(key, why + _wished(key, values)) for key, why in unread.left]
    if line >= (1, 2) and isinstance(value_at(own, ("partitions", "all")), Mapping):
        old = {"partitions": {"all": ALL}}
    notes += _own_partition(own, old)
    whole = merged(merged(IMPLIED, old), own)
    whole = _named(whole, release, namespace, notes)
    for sets, defaults in SETS.items():
        common = whole.pop(defaults, None) or {}
        given = whole.get(sets) or {}
        if isinstance(given, Mapping):
            whole[sets] = {
                n: made_set
                for n, given_set in given.items()
                if (made_set := _set(f"{sets}.{n}", common, given_set, notes, left, unread.meant))
            }
            notes += [
                f"{sets}.{n}.replicas: {_NO_NUMBER}"
                for n, pod_set in whole[sets].items()
                if _is_a_pod_a_node(pod_set) and value_at(own, (sets, n, "replicas")) is not None
            ]
            if line < (1, 2):
                notes += _unmade(sets, {name: given[name] for name in whole[sets]})
    is_outside = _is_outside(whole)
    switched(whole, own, notes, left)
    tags(whole, line)
    notes += priority_class(whole)
    off(whole, notes)
    resolvers(whole, notes)
    sssd_beside(whole, left)
    notes += sssd_secrets(whole, line, left)
    if not is_empty(value_at(whole, ("sssd", "secretRef"))) and not is_outside:
        notes.append(
            "sssd.secretRef: here it is `identity.sssd`, by which slurmctld's pod has a sidecar with sssd, too; the chart"
            " makes none"
        )
    _keys(whole, line, notes)
    _partitions(whole, notes)
    _written(whole, notes)
    first = {"nodesets": whole.pop("nodesets", None)}  # of settings that are one for all, theirs count: their pods run jobs
    last = {"controller": whole.pop("controller", None)}  # of two partitions of one name the chart's own is the later line
    taken = translate({**first, **whole, **last})
    taken.left[:0] = left
    taken.used = _said(taken.used, set(_places(own, ())))
    _classes(taken.settings)
    _sshd(taken.settings)
    leave_refused(taken, drops_empty=line >= (1, 1))
    cluster = taken.settings["cluster"]
    if objects := of_others(taken.settings):
        cluster["createNamespace"] = False
        notes.append(said_of_others("cluster", str(cluster["namespace"]), objects))
    notes += _wider(taken.used, taken.settings)
    taken.settings["cluster"] = {"name": cluster["name"], **cluster}
    taken.settings = ordered(taken.settings)
    return account(values, Read(taken, [*notes, *taken.notes]))


def _own_partition(own: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[str]:
    """What the chart itself says of partition ``all``, where the values say something else of it: they don't show it."""
    place = ("partitions", "all", "configMap")
    said, given = mapping(value_at(own, place[:2])), mapping(value_at(own, place))
    if said.get("enabled") is False or not said or said.get("config"):
        return
    lines = [f"{key}={value}" for key, value in mapping(value_at(old, place)).items() if key not in given]
    if lines:
        yield f"{'.'.join(place)} by the chart's default: {', '.join(lines)}, which these values leave so"


def said_of_others(section: str, space: str, objects: Sequence[str]) -> str:
    """The note about objects of a namespace that the stack doesn't make."""
    return (
        f"{section}.createNamespace: false, since the stack doesn't make these, which must be in namespace"
        f" {name_of(space)} before `pulumi up`: {', '.join(objects)}"
    )


def _shaped(value: Mapping[str, Any], path: Path, left: list[tuple[str, str]]) -> dict[str, Any]:
    """Values without those that aren't mappings where the chart has them. Lists of sets, as in chart 0.x, are read."""
    shaped: dict[str, Any] = {}
    for key, child in value.items():
        here = (*path, str(key))
        if isinstance(child, list) and len(here) == 1 and key in SETS and all(isinstance(one, Mapping) for one in child):
            child = {str(one.get("name", number)): merged(one, {"name": None}) for number, one in enumerate(child)}  # noqa: PLW2901
        if isinstance(child, Mapping):
            shaped[key] = _shaped(child, here, left)
        elif (
            child is None
            or (len(here) == 1 and key not in _WORDS)  # another spelling, which is named later
            or not any(True for _ in rows_below(here))
            or (len(here) > 1 and row_of(here) is not None)
        ):
            shaped[key] = child
        else:
            left.append((".".join(here), NO_MAPPING))
    return shaped


def _said(used: list[tuple[str, str]], places: set[str]) -> list[tuple[str, str]]:
    """Of what became settings, that which the values say, and not the chart itself; also by a key for all sets of a kind."""
    pairs = []
    for key, setting in used:
        kind, _, rest = key.partition(".")
        common = f"{SETS.get(kind, kind)}.{rest.partition('.')[2]}"
        pairs += [(place, setting) for place in (key, common) if place in places][:1]
    return pairs


def _places(value: object, path: Path) -> Iterator[str]:
    """Places that values say something of."""
    yield ".".join(path)
    if path[-2:] == ("podSpec", "volumes"):
        yield ".".join((*path[:-2], "volumes"))
    for key, inner in value.items() if isinstance(value, Mapping) else ():
        yield from _places(inner, (*path, str(key)))


def ordered(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Sections as people read them: the cluster first, then its daemons, then its pods."""
    known = [name for name in _ORDER if name in settings]
    return {name: settings[name] for name in (*known, *(section for section in settings if section not in known))}


def _named(whole: dict[str, Any], release: str, namespace: str, notes: list[str]) -> dict[str, Any]:
    name = fullname(whole, release)
    space = whole.get("namespaceOverride") or namespace
    values = {**whole, "fullnameOverride": name, "namespaceOverride": space, "nameOverride": None}
    if not values.get("clusterName"):
        values["clusterName"] = f"{space}_{name}"
        notes.append(
            f"cluster.name: {space}_{name}, which the operator makes of namespace and name where clusterName isn't set"
            + (_DECIDE if _is_outside(whole) else "")
        )
    return values


_DECIDE: Final = (
    ". DECIDE: slurmctld is outside, and its slurm.conf has a ClusterName, which this must equal. It can't change after the"
    " first `pulumi up`"
)
_KEY_REFS: Final = {"slurmKeyRef": "slurmKeyFrom", "jwtHs256KeyRef": "jwtKeyFrom", "jwtKeyRef": "jwtKeyFrom"}
"""Words of Slinky's hybrid guide for the Secrets with keys, and the setting that each means."""


def _is_outside(values: Mapping[str, Any]) -> bool:
    return bool(value_at(values, ("controller", "external")))


def _wished(key: str, values: Mapping[str, Any]) -> str:
    """What to add of a Secret that a release doesn't read, where slurmctld is outside, so that its key must be that one."""
    reference = values.get(key)
    if key not in _KEY_REFS or not _is_outside(values) or not isinstance(reference, Mapping) or not reference.get("name"):
        return ""
    entry = f", key: {name_of(str(reference['key']))}" if reference.get("key") else ""
    return (
        f". slurmctld is outside, so its key is meant: write `keys.{_KEY_REFS[key]}: {{secret:"
        f" {name_of(str(reference['name']))}{entry}}}` in the file, in the place of what it has there"
    )


def _is_a_pod_a_node(nodeset: Mapping[str, Any]) -> bool:
    return str(nodeset.get("scalingMode")).lower() == "daemonset"


def _set(
    at: str, common: Mapping[str, Any], own: object, notes: list[str], left: list[tuple[str, str]], meant: Collection[str]
) -> dict[str, Any] | None:
    """One NodeSet or login set with the defaults of all; None where it is switched off."""
    kind, _, _ = at.partition(".")
    pod_set = whole_set(kind, common, mapping(own))
    pod_set.pop("enabled", None)
    if is_off(common, mapping(own)):
        notes.append(f"{at}: {_OFF}")
        return None
    if _is_a_pod_a_node(pod_set):
        pod_set.pop("replicas", None)
    container = "slurmd" if at.startswith("nodesets") else "login"
    misspelt = bool({f"{at}.{container}", f"{SETS[kind]}.{container}"} & set(meant))
    return volumes(at, pod_set, container, left, misspelt=misspelt)


def _keys(whole: dict[str, Any], line: tuple[int, int], notes: list[str]) -> None:
    """The chart makes keys only where nothing is outside; else it names Secrets that somebody has made."""
    parts = (whole.get(part) for part in ("controller", "accounting"))
    outside = any(isinstance(part, Mapping) and "externalConfig" in part for part in parts)
    name = str(whole["fullnameOverride"])
    jwt = "jwths256" if line == (1, 0) else "jwt"
    made: dict[str, dict[str, Any]] = {}
    for key, word, entry in (("slurmKey", "slurm", "slurm.key"), ("jwtKey", jwt, _JWT_ENTRIES[jwt])):
        section = whole.get(key)
        given = dict(section) if isinstance(section, Mapping) else {}
        create = given.get("create", True) and not outside
        ref = {"name": f"{name}-auth-{word}", "key": entry, **mapping(given.pop("secretRef", None))}
        if any(whole.get(ref_key) for ref_key in (f"{key}Ref", "slurmKeyRef" if word == "slurm" else "jwtHs256KeyRef")):
            pass
        elif create:
            made[key] = ref
        else:
            given["secretRef"] = ref
        whole[key] = given
    secrets = " and ".join(name_of(str(ref["name"])) for ref in made.values())
    if len(made) == 1:
        ((key, ref),) = made.items()
        whole[key]["secretRef"] = ref
        notes.append(
            f"{key}: the chart makes Secret {secrets}, and the stack doesn't: keys.source is one for both keys, and the"
            " values name the Secret of the other one. So the file names this one, too"
        )
    elif made:
        leaves = (
            "leaves them" if line == (1, 0) else "deletes them, without helm.sh/resource-policy: keep in their annotations"
        )
        notes.append(
            f"keys: the stack makes its own (keys.source: generated). A release that runs has those of the chart in Secrets"
            f" {secrets}, and `helm uninstall` {leaves}. To go on with them, set keys.source: existing and name them in"
            " slurmKeyFrom and jwtKeyFrom"
        )


_JWT_ENTRIES: Final = {"jwths256": "jwt_hs256.key", "jwt": "jwt.key"}
"""Entry of the Secret with the JWT key, by the last word of its name: 1.0's, and that of later releases."""


def _partitions(whole: dict[str, Any], notes: list[str]) -> None:
    partitions = whole.get("partitions")
    if not isinstance(partitions, Mapping):
        return
    kept = {}
    for name, partition in partitions.items():
        if isinstance(partition, Mapping) and is_off({"enabled": True}, partition):
            notes.append(f"partitions.{name}: {_OFF}")
        else:
            kept[name] = partition
    notes += _unmade("partitions", kept)
    whole["partitions"] = kept


_TEXTS: Final = (("extraConf", "extraConfMap"), ("config", "configMap"))
"""A text of parameters, and the mapping that the chart reads where there is no such text."""


def _written(whole: Mapping[str, Any], notes: list[str]) -> None:
    """Take away what the chart's templates don't write (``slurm._toList``, ``slurm.controller.extraConf``)."""
    parts: dict[str, Any] = {name: whole.get(name) for name in ("controller", "accounting")}
    for kind in ("nodesets", "partitions"):
        parts |= {f"{kind}.{name}": section for name, section in (whole.get(kind) or {}).items()}
    parts |= {
        f"{at}.partition": section["partition"]
        for at, section in parts.items()
        if isinstance(value_at(section, ["partition"]), dict)
    }
    for at, part in parts.items():
        for text, word in _TEXTS if isinstance(part, dict) else ():
            parameters = part.get(word)
            if not isinstance(parameters, Mapping) or not parameters:
                continue
            if part.get(text):
                part[word] = None
                notes.append(f"{at}.{word}: the chart doesn't read it beside {text}, so it isn't carried over")
                continue
            part[word] = {key: parameter for key, parameter in parameters.items() if parameter}
            if lost := [
                name_of(str(key)) for key, parameter in parameters.items() if not parameter and parameter is not None
            ]:
                said = "the chart writes no line for what is 0, false or empty, so it isn't carried over"
                notes.append(f"{at}.{word}: {', '.join(lost)}: {said}")


def _unmade(kind: str, parts: Mapping[str, Any]) -> list[str]:
    """What to say of parts that the chart makes with `enabled: true` alone, and that don't have it."""
    lacking = [name for name, part in parts.items() if not (isinstance(part, Mapping) and "enabled" in part)]
    said = "without `enabled: true` the chart doesn't make it. It is in the file: remove it where the release lacks it"
    return [f"{kind}.{name}: {said}" for name in lacking]


_NAMED: Final = 4
"""Keys that one note names."""
_PULL: Final = "cluster.images.pullSecrets"
"""A list to which each key adds."""
_FOR_ALL: Final = {
    "cluster.sidecarResources": "every log, reconfigure and init sidecar",
    "cluster.images.sidecar": "every log and init sidecar",
    "cluster.images.pullPolicy": "every container",
    _PULL: "every pod",
}
"""Settings that are one for the cluster where the chart has a key for each part, and what each holds for."""


def _wider(used: list[tuple[str, str]], settings: Mapping[str, Any]) -> Iterator[str]:
    """What the chart says of some parts, and the settings of all; a key of the chart for all is no other value here."""
    for setting, all_ in _FOR_ALL.items():
        keys = dict.fromkeys(key for key, place in used if place == setting)
        if any("." not in key for key in keys):
            keys = {key: None for key in keys if "." in key} if setting == _PULL else {}
        if keys:
            given = value_at(settings, setting.split("."))
            value = f" ({name_of(given)})" if isinstance(given, str) else ""
            yield f"{some(keys, _NAMED)}: here it is `{setting}`{value}, one for {all_} of the cluster"


def _classes(settings: dict[str, Any]) -> None:
    """The one priority class of the chart, for each set; a set's own one holds."""
    for sets in ("nodesets", "logins"):
        common = settings.get(sets, {}).pop("*", None)
        for name, pod_set in settings.get(sets, {}).items() if common else ():
            settings[sets][name] = merged(common, pod_set)
        if sets in settings and not settings[sets]:
            settings.pop(sets)
    for daemon in ("controller", "accounting"):
        if "external" in settings.get(daemon, {}):  # it has no pod here
            settings[daemon].pop("pod", None)
    if "accounting" in settings and not settings["accounting"].get("enabled", True):
        settings["accounting"] = {"enabled": False}


def _sshd(settings: dict[str, Any]) -> None:
    """``identity.sssd`` without a Secret of its own is the stack's secret sssdConf."""
    for name, login in settings.get("logins", {}).items():
        if not isinstance(login, Mapping):
            settings["logins"][name] = {}
