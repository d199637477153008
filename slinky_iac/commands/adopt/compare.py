"""From a living release to a stack's settings, and what the stack's first update would change in it. Pure.

slurm-operator gives labels and annotations of Controller, Accounting, RestApi and LoginSet to their pods, which restart for
them (``internal/builder``, ``*_app.go``, 1.1 and 1.2). It compares pods of a NodeSet by its spec (``nodeset_history.go``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from slinky_iac.blueprint.objects import objects
from slinky_iac.commands.adopt import modes
from slinky_iac.commands.adopt.model import Live, Release
from slinky_iac.commands.adopt.writers import writers
from slinky_iac.config.adopted import ANNOTATIONS, KINDS, LABELS, LINES, OWN_LINE
from slinky_iac.config.chart.release import ordered, read
from slinky_iac.config.chart.said import Read
from slinky_iac.config.paths import value_at
from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import ProjectError
from slinky_iac.names import loginset_resource, nodeset_resource
from slinky_iac.ownership import adopted_lost
from slinky_iac.releases import OperatorVersion
from slinky_iac.specs.objects import Object
from slinky_iac.specs.shared import labels

NONE: Final = object()
"""Says that a field isn't there."""
_TEMPLATE: Final = (
    (("metadata", "labels"), "labels"),
    (("metadata", "annotations"), "annotations"),
    (("spec", "nodeSelector"), "nodeSelector"),
    (("spec", "tolerations"), "tolerations"),
    (("spec", "affinity"), "affinity"),
    (("spec", "priorityClassName"), "priorityClass"),
    (("spec", "terminationGracePeriodSeconds"), "terminationGrace"),
)
"""Fields of a pod template and the settings of ``pod`` that carry them."""
_IMAGES: Final = (
    ("Controller", "slurmctld", "slurmctld"),
    ("Accounting", "slurmdbd", "slurmdbd"),
    ("RestApi", "slurmrestd", "slurmrestd"),
    ("LoginSet", "initconf", "sidecar"),
    ("NodeSet", "logfile", "sidecar"),
    ("Controller", "logfile", "sidecar"),
)
"""Kind, container and setting of ``cluster.images``; of two with one setting the last counts."""
_DAEMONS: Final = {"Controller": "controller", "Accounting": "accounting", "RestApi": "restapi"}
"""Sections of the daemons' settings."""
_NODESET_PODS: Final = frozenset(
    {"template", "slurmd", "extraConf", "logfile", "ssh", "ordinalPadding", "oversubscribeNode"}
)
_NO_PODS: Final = frozenset({"service", "replicas", "strategy"})
_POINTERS: Final = frozenset({"affinity", "securityContext"})
"""Fields whose empty value isn't the same as none to slurm-operator: pointers in Kubernetes' own types."""


@dataclass(frozen=True)
class Difference:
    """A field of a living object that a first update would write."""

    of: str
    """Kind and name of the object."""
    field: str
    live: object
    stack: object
    restarts: bool
    """Whether the object's pods are replaced for it."""
    place: str = ""
    """What to write into ``adopted`` so that it stays as it is; empty where that can't be."""


@dataclass(frozen=True)
class Verdict:
    """What lies between the release and the stack."""

    writers: tuple[str, ...]
    """Other programs that write the release's objects."""
    missing: tuple[str, ...]
    """Objects that only one of the two has, in words."""
    differences: tuple[Difference, ...]
    kept: tuple[str, ...]
    """Fields that are there and that the stack doesn't set, by object."""
    unfit: tuple[str, ...] = ()
    """NodeSets of a kind that no gate knows, in words."""

    @property
    def in_the_way(self) -> bool:
        """Whether something has to be decided before a stack can take the release over."""
        return bool(self.writers or self.missing or self.unfit or self.restarting)

    @property
    def restarting(self) -> tuple[str, ...]:
        """Objects whose pods would be replaced."""
        return tuple(dict.fromkeys(difference.of for difference in self.differences if difference.restarts))


def settings(release: Release, living: Sequence[Live]) -> Read:
    """The stack's settings: the user's values as `import-chart` reads them, the keys that exist, and of the living objects
    what has a setting. Raises :class:`ProjectError` where there is no Controller, or the chart's release isn't known."""
    try:
        version = OperatorVersion.parse(release.version)
    except ValueError as wrong:
        raise ProjectError(f"chart of release {release.name}: {wrong}. Nothing was written") from None
    reading = read(release.values, release=release.name, namespace=release.namespace, line=(version.major, version.minor))
    own = reading.taken.settings
    name = own["cluster"]["resourceName"]
    daemon = next((resource for resource in living if (resource.kind, resource.name) == ("Controller", name)), None)
    if daemon is None:
        raise ProjectError(
            f"Controller {release.namespace}/{name} isn't in Kubernetes, though Helm has a record of release {release.name}."
            f" Nothing was written. `kubectl get controllers -A` shows those that are there"
        )
    own["operator"] = {"version": str(version), "install": False}
    own["keys"] = {
        "source": "existing",
        **_key(daemon, "slurmKeyRef", "slurm"),
        **_key(daemon, version.jwt_ref_field, "jwt"),
    }
    own["cluster"]["createNamespace"] = False
    reading.notes[:] = [note for note in reading.notes if "keys.source: generated" not in note]
    _carry(own, name, living, reading.notes, reading.taken.left)
    _without_sssd(own, name, living, reading)
    reading.taken.settings = ordered(own)
    return reading


def _key(daemon: Live, field: str, word: str) -> dict[str, Any]:
    reference = daemon.spec.get(field) or {}
    if not isinstance(reference, Mapping) or not reference.get("name") or not reference.get("key"):
        raise ProjectError(f"Controller {daemon.name} has no {field} with name and key. Nothing was written")
    return {f"{word}KeyFrom": {"secret": str(reference["name"]), "key": str(reference["key"])}}


def _carry(own: dict[str, Any], cluster: str, living: Sequence[Live], notes: list[str], left: list[tuple[str, str]]) -> None:
    """Put what runs into the settings, over what the values say."""
    live = {(resource.kind, resource.name): resource for resource in living}
    for kind, section in _DAEMONS.items():
        counterpart = live.get((kind, cluster))
        if counterpart is not None and not counterpart.spec.get("external"):
            _pod(own.setdefault(section, {}), counterpart)
            _password(own[section], counterpart)
    for name, part in own.get("nodesets", {}).items():
        if counterpart := live.get(("NodeSet", nodeset_resource(cluster, name))):
            _set(f"nodesets.{name}", part, counterpart, "slurmd", notes)
            modes.carry(part, counterpart)
            if padding := counterpart.spec.get("ordinalPadding"):
                left[:] = [row for row in left if row[0] != f"nodesets.{name}.ordinalPadding"]
                notes.append(
                    f"nodesets.{name}.ordinalPadding: {padding} stays, and with it the names of nodes, also of new ones."
                    " No setting writes it: a NodeSet that the stack makes again has names without zeros"
                )
            if value_at(counterpart.spec, ("ssh", "enabled")):
                part["ssh"] = {**part.get("ssh", {}), **_sssd(value_at(counterpart.spec, ("ssh", "sssdConfRef")))}
    for name, part in own.get("logins", {}).items():
        if counterpart := live.get(("LoginSet", loginset_resource(cluster, name))):
            _set(f"logins.{name}", part, counterpart, "login", notes)
            part.update(_sssd(counterpart.spec.get("sssdConfRef")))
    if images := _images(living):
        own["cluster"]["images"] = {**own["cluster"].get("images", {}), **images}


def _images(living: Sequence[Live]) -> dict[str, Any]:
    images: dict[str, Any] = {}
    for kind, container, setting in _IMAGES:
        for inner in (resource.spec.get(container) for resource in living if resource.kind == kind):
            if image := value_at(inner, ("image",)):
                images[setting] = image
                images["pullPolicy"] = value_at(inner, ("imagePullPolicy",)) or images.get("pullPolicy")
    return {name: value for name, value in images.items() if value}


def _set(at: str, part: dict[str, Any], resource: Live, container: str, notes: list[str]) -> None:
    _pod(part, resource)
    if image := value_at(resource.spec, (container, "image")):
        part["image"] = image
    replicas, said = resource.spec.get("replicas"), part.get("replicas")
    if isinstance(replicas, int) and said != replicas:
        notes.append(f"{at}.replicas: {replicas}, which runs; the values say {said}")
        part["replicas"] = replicas


def _sssd(reference: object) -> dict[str, Any]:
    """The Secret with sssd.conf, which exists."""
    given = {"secret": value_at(reference, ("name",)), "key": value_at(reference, ("key",)) or "sssd.conf"}
    return {"sssdConfFrom": given} if given["secret"] else {}


def _without_sssd(own: dict[str, Any], cluster: str, living: Sequence[Live], reading: Read) -> None:
    """The chart gives sssd.conf to login pods and to pods with SSH, which name their Secrets; slurmctld has no sssd."""
    live = {(resource.kind, resource.name) for resource in living}
    nodesets = [name for name, nodeset in own.get("nodesets", {}).items() if "ssh" in nodeset]
    named = [("NodeSet", nodeset_resource(cluster, name)) for name in nodesets]
    named += [("LoginSet", loginset_resource(cluster, name)) for name in own.get("logins", {})]
    if live.issuperset(named):
        reading.taken.left[:] = [row for row in reading.taken.left if not row[0].endswith(("sssd.conf", ".sssdConf"))]
        reading.notes[:] = [note for note in reading.notes if "sssdConfFrom: Secret " not in note]
        identity = {key: value for key, value in own.pop("identity", {}).items() if key != "sssd"}
        own.update({"identity": identity} if identity else {})


def _password(part: dict[str, Any], resource: Live) -> None:
    """The Secret with the database's password, which exists."""
    reference = value_at(resource.spec, ("storageConfig", "passwordKeyRef"))
    if isinstance(part.get("database"), dict) and value_at(reference, ("name",)):
        given = {"secret": value_at(reference, ("name",)), "key": value_at(reference, ("key",)) or "password"}
        part["database"] = {**part["database"], "passwordFrom": given}


def _pod(part: dict[str, Any], resource: Live) -> None:
    carried = {
        name: value
        for path, name in _TEMPLATE
        if (value := value_at(resource.spec, ("template", *path))) not in (None, "", {}, [])
    }
    if carried:
        part["pod"] = {**part.get("pod", {}), **carried}


def taken_over(config: StackConfig, living: Sequence[Live], release: Release) -> dict[str, Any]:
    """Section ``adopted``: the objects that the stack takes over, and of each what would restart its pods."""
    live = {f"{resource.kind} {resource.name}": resource for resource in living}
    differences = verdict(config, living, release.stopped).differences
    objects: dict[str, Any] = {}
    for called in (f"{manifest.kind} {manifest.name}" for manifest in rendered(config)):
        if called in live:
            places = {
                difference.place
                for difference in differences
                if difference.of == called and difference.restarts and difference.place
            }
            # With labels go annotations: the stack has some of its own, which reach the pods in the same way.
            places |= {ANNOTATIONS} if LABELS in places else set()
            objects[called] = {"uid": live[called].uid, **({"keep": sorted(places)} if places else {})}
    space = {} if release.namespace == config.cluster.namespace else {"namespace": release.namespace}
    record = {} if release.record is None else {"record": release.record}
    return {"release": release.name, **record, **space, "objects": objects}


def rendered(config: StackConfig) -> tuple[Object, ...]:
    """The custom resources that the stack registers, in the order of :data:`KINDS`."""
    return tuple(
        sorted(
            (manifest for manifest in objects(config) if manifest.kind in KINDS),
            key=lambda manifest: KINDS.index(manifest.kind),
        )
    )


def verdict(config: StackConfig, living: Sequence[Live], stopped: Collection[str] = ()) -> Verdict:
    """What the stack's first update would change in the living objects, field by field. ``stopped``: as of
    :class:`Release`."""
    stack = {(manifest.kind, manifest.name): manifest for manifest in rendered(config)}
    live = {(resource.kind, resource.name): resource for resource in living}
    missing = [
        f"{kind} {name} isn't in Kubernetes: the stack would make it" for kind, name in stack if (kind, name) not in live
    ]
    missing += [
        f"{kind} {name} is in Kubernetes, and the stack has none" for kind, name in live if (kind, name) not in stack
    ]
    differences: list[Difference] = []
    kept: list[str] = []
    for key, made in stack.items():
        if key in live:
            own = None if config.adopted is None else config.adopted.object(*key)
            if own is not None and own.uid != live[key].uid:
                missing.append(adopted_lost(" ".join(key), config.cluster.namespace, live[key].uid))
            differences += _differences(config, live[key], made)
            gated = modes.gated(config, live[key])
            fields = [".".join(path) for path in _only(_clean(live[key].spec), _clean(made.body["spec"]))]
            fields = [field for field in fields if not field.startswith(gated)]
            kept += [f"{key[0]} {key[1]}: {', '.join(fields)}"] if fields else []
    return Verdict(
        writers(config, living, stopped),
        tuple(missing),
        tuple(differences),
        tuple(kept),
        tuple(modes.unfit(config, living)),
    )


def _differences(config: StackConfig, live: Live, made: Object) -> Iterator[Difference]:
    called, own = f"{live.kind} {live.name}", None if config.adopted is None else config.adopted.object(live.kind, live.name)
    # The look at sessions before an update of a LoginSet goes by its labels and annotations on each release (replaces_pods).
    copied = config.operator_version.copies_metadata or live.kind == "LoginSet"
    reach_pods = live.kind != "NodeSet" and not live.spec.get("external") and copied
    for key, value in {} if own is not None and LABELS in own.keep else {**labels(config), **made.labels}.items():
        if live.labels.get(key) != value:
            yield Difference(called, f"metadata.labels.{key}", live.labels.get(key, NONE), value, reach_pods, LABELS)
    for field, there, ours in modes.selects_otherwise(config, live):
        yield Difference(called, f"spec.template.spec.{field}", there, ours, restarts=True)
    for path, there, ours in _changed(_clean(live.spec), _clean(made.body["spec"])):
        # A NodeSet is registered with 0: its gate writes the number, which the settings have from the living one.
        if (live.kind, path) == ("NodeSet", ("replicas",)):
            continue
        restarts = _restarts(config, live, path[0])
        if (live.kind, path) == ("Controller", ("extraConf",)):
            yield from _lines(called, there, ours, restarts=restarts)
            continue
        yield Difference(called, f"spec.{'.'.join(path)}", there, ours, restarts, _place(path))


def _place(path: Sequence[str]) -> str:
    """Of a field's path what ``adopted`` can name: down to the first key that is data, as a label's name."""
    fields = takewhile(lambda key: key.isascii() and key.isalnum() and key[0].isalpha(), path)
    return ".".join(("spec", *fields))


def _lines(called: str, live: object, stack: object, *, restarts: bool) -> Iterator[Difference]:
    """Lines of slurm.conf that only one side has, by their parameters; then their order."""
    there, ours = ([] if text is NONE else str(text).strip().splitlines() for text in (live, stack))
    for line in there:
        if line not in ours:
            yield Difference(called, _parameter(line), line.partition("=")[2], NONE, restarts)
    for line in ours:
        if line not in there:
            place = LINES + OWN_LINE if line.startswith(f"{OWN_LINE}=") else ""
            yield Difference(called, _parameter(line), NONE, line.partition("=")[2], restarts, place)
    if sorted(there) == sorted(ours) and there != ours:
        yield Difference(called, "slurm.conf", "the same lines", "in another order", restarts)


def _parameter(line: str) -> str:
    return f"slurm.conf {line.partition('=')[0]}"


def _restarts(config: StackConfig, live: Live, field: str) -> bool:
    if live.spec.get("external"):
        return False
    if live.kind == "NodeSet":
        return field in _NODESET_PODS
    if live.kind == "Controller" and field == "extraConf":
        return config.operator_version.prunes_slurm_conf
    return field not in _NO_PODS


def _clean(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Without what Go leaves out when it writes the object: empty texts, lists and mappings that aren't pointers."""
    if isinstance(value, Mapping):
        cleaned = {key: _clean(inner) for key, inner in value.items()}
        return {
            key: inner
            for key, inner in cleaned.items()
            if inner not in (None, "", {}, []) or (inner == {} and key in _POINTERS)
        }
    if isinstance(value, list | tuple):
        return [_clean(inner) for inner in value]
    return value


def _changed(live: Mapping[str, Any], stack: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], object, object]]:
    for key, ours in stack.items():
        there = live.get(key, NONE)
        if isinstance(ours, Mapping) and isinstance(there, Mapping):
            yield from (((key, *path), old, new) for path, old, new in _changed(there, ours))
        elif there is NONE or there != ours:
            yield (key,), there, ours


def _only(live: Mapping[str, Any], stack: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Fields that the stack doesn't set. false and 0 are what Kubernetes has without the field."""
    for key, there in live.items():
        ours = stack.get(key, NONE)
        if ours is NONE:
            if there not in (False, 0):
                yield (key,)
        elif isinstance(ours, Mapping) and isinstance(there, Mapping):
            yield from ((key, *path) for path in _only(there, ours))
