"""One question to every resource: is it one that this program makes, as it makes it, or one that the site has declared?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from slurm_rules import guests
from slurm_rules.charts import HELM_RELEASE, chart_names, makes_cluster
from slurm_rules.clouds import fetched, package_faults
from slurm_rules.cluster import STACK
from slurm_rules.fields import Fields, named_as_made
from slurm_rules.flows import key_flows
from slurm_rules.images import from_registry, operator_images, pin_fault
from slurm_rules.made import HARMLESS, KINDS, Fault, Judging
from slurm_rules.model import HiddenValueError, Resource, Stack, everything
from slurm_rules.others import elsewhere, ingress_faults, release_faults, writes_database
from slurm_rules.people import people_of_chart
from slurm_rules.rights import BINDINGS, RBAC, ROLES, as_kubernetes, judged
from slurm_rules.rule import Option, Options, rule, word, words
from slurm_rules.site import SCHEMA, declared, today
from slurm_rules.spaces import confined
from slurm_rules.values import check_of
from slurm_rules.whole import whole_faults
from slurm_rules.world import GATE_TYPES, World, world_of

_ANY_NAME: Final = (*guests.KINDS, *HARMLESS["guests"]["anyName"])
_ACTORS: Final = frozenset(HARMLESS["outside"]["actors"])
"""Charts of what ends or changes pods that others made."""
_WIDE: Final = ("watchGlobally", "clusterScoped", "clusterWide", "allNamespaces")
_SITE: Final = HARMLESS["site"]
OPTIONS: Final = {
    "declared": Option([], SCHEMA),
    "images": words(
        (*_SITE["images"],), "Registries, or paths in them, that images in the cluster's namespaces may come from."
    ),
    "require": word("tag", "What pins an image or chart: a tag that doesn't move, or a digest.", "tag", "digest"),
    "except": words((), "Images and charts (with *) that needn't be pinned so."),
    "folders": words((*_SITE["folders"],), "Folders of a node (with *), and all below them, that pods may mount."),
    "hosts": words((), "Hosts beside those of the stack that gates, autoscalers, Services and NodeAddr may lead to."),
    "plainHttpHosts": words((), "Of these, hosts that gates may ask in plain HTTP, on a network of their own."),
    "metrics": words(("slurm_nodes_wanted",), "Metrics of the site that count busy nodes, and what waits."),
    "tokenKeys": words((), "Names (kid) of keys in jwks.json that are an identity provider's."),
}


@rule("cluster-as-made", lambda resource: resource.type != STACK, options=OPTIONS)
def cluster_as_made(resource: Resource, stack: Stack, options: Options) -> Iterator[str]:
    """Every resource that touches the cluster is one that this program makes, as it makes it, or one that the site has
    declared.

    Why: what this program makes is known; what harms a cluster has no end: a container beside slurmctld reads slurm.key, a
    deadline kills worker pods with their jobs, a right to scale takes slurmrestd away, and the operator then deletes busy
    pods. Judged are the cluster's and the operator's namespaces, all of Slinky's kinds, rights, cluster-wide objects, other
    deployers, a cloud's resources, and outside these namespaces what leads into them: to slurmrestd, to a key, to a node.

    Source: made.json, written from what the components render; slurm.conf(5), slurmdbd.conf(5); Kubernetes, "Role Based
    Access Control Good Practices", "Dynamic Admission Control", "Volumes" (hostPath); slurm-operator internal/builder.

    Do: remove it, set it by the program's settings, or have it reviewed and declare it: `slinky policies accept`.

    Level: mandatory, since it leaks keys and loses jobs.
    """
    seen = resource.as_declared()
    world = world_of(stack)
    judging = Judging(world)
    unseen: list[HiddenValueError] = []
    try:
        _judge(seen, stack, judging, options)
    except HiddenValueError as missing:  # what was found before it counts
        unseen.append(missing)
    now = today()
    for fault in judging.faults:
        what = f"{place_of(seen)}{f':{fault.path}' if fault.path else ''}"
        said = declared(what, options["declared"], now)
        if said != "":
            ended = f"; {said}" if said else ""
            yield f"{seen.label}: {fault.path or 'it'} {fault.text}{ended} (what: {what})"
    unseen += [HiddenValueError(f"{seen.label}: {path}", why) for path, why in judging.hidden]
    if unseen:
        raise unseen[0]


def place_of(resource: Resource) -> str:
    """How a site's entry names a resource: ``Kind/namespace/name``."""
    name, space = resource.peek("metadata", "name"), resource.peek("metadata", "namespace")
    return f"{resource.kind}/{space if isinstance(space, str) else ''}/{name if isinstance(name, str) else resource.name}"


def _judge(resource: Resource, stack: Stack, judging: Judging, options: Options) -> None:
    judging.faults.extend((*fetched(resource), *key_flows(resource, stack)))
    if resource.type == HELM_RELEASE:
        _release(resource, judging, options)
    elif resource.type.startswith(GATE_TYPES):
        _fields(f"slurm:{resource.kind}", resource, judging, options)
    elif resource.type == "pulumi:providers:kubernetes":
        _fields(resource.type, resource, judging, options)
    elif not resource.is_kubernetes:
        judging.faults.extend(
            (*package_faults(resource, judging.world), *writes_database(resource.props, "", judging.world))
        )
    elif resource.type.startswith("kubernetes:yaml") and set(resource.props) == {"objs"}:
        for part in _declared_in(resource.get("objs")):
            _judge(part, stack, judging, options)
    elif fault := _misfit(resource) or _patched(resource, judging.world):
        judging.faults.append(fault)
    elif resource.is_a(RBAC, *ROLES, *BINDINGS):
        judging.faults.extend(judged(resource, stack, judging.world))
    elif _within(resource, judging.world):
        judging.faults.extend(_twice(resource, stack))
        judging.faults.extend(_other_cluster(resource, judging.world))
        _inside(resource, stack, judging, options)
    else:
        judging.faults.extend(elsewhere(resource, stack, judging.world, options))
    _images(judging, options)


def _images(judging: Judging, options: Options) -> None:
    for path, image in judging.images:
        if not from_registry(image, options["images"]):
            judging.add(path, f"takes {image}, of a registry that this site doesn't know (images)")
        elif lacks := pin_fault(image.removeprefix("oci://"), options["require"], options["except"]):
            judging.add(path, f"takes {image}, which {lacks}")
    judging.images.clear()


def _declared_in(objects: object) -> Iterator[Resource]:
    """Objects that a ConfigGroup holds, lists of them opened, each as a resource of its own."""
    for manifest in objects if isinstance(objects, list | tuple) else ({},):
        kind, version = (str(manifest.get(field, "")) for field in ("kind", "apiVersion"))
        if kind.endswith("List") and "items" in manifest:
            yield from _declared_in(manifest["items"])
        else:
            name = str((manifest.get("metadata") or {}).get("name"))
            yield Resource(f"kubernetes:{version}:{kind}", name, f"{version}:{kind}:{name}", manifest)


def _release(release: Resource, judging: Judging, options: Options) -> None:
    charts = chart_names(release)
    if release.peek("postrender"):
        judging.add("postrender", "runs a program over what the chart makes")
    if release.peek("valueYamlFiles"):
        judging.add("valueYamlFiles", "are values that aren't seen; give them as values")
    if charts & {"slurm-operator", "slurm-operator-crds"}:
        judging.images.extend(operator_images(release, options["require"]))
        _fields("helm.sh/Release", release, judging, options)
        return
    if "slurm" in charts or makes_cluster(release):
        judging.add("chart", "is a chart of a whole cluster, into which no rule sees; declare its resources")
    if release.text("namespace") in judging.world.closed:
        judging.add("namespace", "puts a chart's objects into the cluster's namespace")
    values = release.get("values") or {}
    own = any(key in _WIDE and part is False for _, key, part in everything(values))
    if charts & _ACTORS and not own and not confined(values, judging.world):
        judging.add("values", "end or change pods of all namespaces; name those in which it acts, without the cluster's")
    judging.faults.extend(release_faults(release, judging.world, options))
    judging.faults.extend(people_of_chart(charts, values))


def _misfit(resource: Resource) -> Fault | None:
    """A type that says another kind than the properties: rules would judge the wrong one."""
    kind, version = resource.get("kind"), resource.get("apiVersion")
    if isinstance(kind, str) and kind != resource.base_kind:
        return Fault("kind", f"is {kind}, and its type says {resource.kind}")
    if isinstance(version, str) and version.rpartition("/")[0] != resource.group:
        return Fault("apiVersion", f"is {version}, of another group than its type")
    if resource.base_kind.endswith("List") and resource.peek("items"):
        return Fault("items", "are objects that no rule sees; declare each as a resource")
    return None


_GUARDED: Final = ("admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io")


def _patched(resource: Resource, world: World) -> Fault | None:
    """A patch of what is declared elsewhere."""
    space = resource.text("metadata", "namespace") if resource.is_patch else ""
    own = resource.is_slinky or space in world.closed or resource.in_cluster_name in world.closed
    if resource.is_patch and (own or resource.group in _GUARDED or space.startswith("kube-")):
        return Fault("", "changes what is declared elsewhere, past gates and rules; change it there")
    return None


def _within(resource: Resource, world: World) -> bool:
    """Whether a Kubernetes object is the cluster's: by its kind, its namespace, or a name of the program's own."""
    key, name = f"{resource.group}/{resource.base_kind}", resource.in_cluster_name
    space = resource.get("metadata", "namespace")
    if resource.is_slinky or space in world.closed:
        return True
    if key == "/Namespace":
        return name in world.closed
    fence = resource.group == "admissionregistration.k8s.io" and name.startswith("slinky-iac-")
    return fence or (resource.group == "apiextensions.k8s.io" and named_as_made(key, name, world))


def _twice(resource: Resource, stack: Stack) -> Iterator[Fault]:
    """Two resources of one object: whichever comes last wins, and a review reads the other."""
    own = (resource.kind, resource.group, resource.namespace, resource.in_cluster_name)
    for other in stack.resources:
        if (
            other.urn != resource.urn
            and other.kind == own[0]
            and (other.group, other.namespace, other.in_cluster_name) == own[1:]
        ):
            yield Fault("metadata.name", f"is declared twice, by {other.name} too: the last one wins")


def _other_cluster(resource: Resource, world: World) -> Iterator[Fault]:
    """A part of the cluster in another Kubernetes cluster than the one that the gates drain."""
    given = resource.provider if resource.is_slinky else None
    for field, known in world.reach.items() if given is not None else ():
        said = given.get(field, "") if given is not None else ""
        if known and isinstance(said, str) and said not in known:
            yield Fault("provider", f"has the {field} {said or '(none)'!s:.80}, and the stack's gates drain elsewhere")


def _inside(resource: Resource, stack: Stack, judging: Judging, options: Options) -> None:
    key, name = f"{resource.group}/{resource.base_kind}", resource.in_cluster_name
    if key == "networking.k8s.io/Ingress":
        judging.faults.extend((*ingress_faults(resource), *as_kubernetes(resource.props, "", name, judging.world)))
        return
    if key not in KINDS and key not in guests.KINDS:
        judging.add("", "isn't made by this program, and is among the cluster's own objects")
        return
    if key == "/PersistentVolumeClaim" and name.startswith("statesave"):
        judging.add("metadata.name", "is slurmctld's own claim")
    free = key in _ANY_NAME or (resource.is_slinky and resource.base_kind != "NodeSet")
    if not free and not named_as_made(key, name, judging.world):
        judging.add("metadata.name", f"is {name}; the program's are {', '.join(KINDS[key]['names'])}")
    _fields(key, resource, judging, options)
    judging.faults.extend(whole_faults(key, resource, judging.world))
    judging.faults.extend(guests.guest_faults(resource, stack, judging.world, options))


def _fields(key: str, resource: Resource, judging: Judging, options: Options) -> None:
    if key not in KINDS and key not in guests.KINDS:
        judging.add("", "is a gate that this program doesn't have")
        return
    for field in resource.ignore_changes:
        free = key in guests.KINDS and check_of(key, tuple(field.split("."))) == "free"
        if not free and (key not in KINDS or field not in KINDS[key]["ignoreChanges"]):
            judging.add("ignoreChanges", f"has {field}: what a review sees isn't what runs")
    Fields(key, resource, judging, options).judge()
