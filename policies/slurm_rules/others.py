"""Objects outside a cluster's namespaces: by what they reach into it, or stand before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from posixpath import normpath
from typing import Any, Final

from slurm_rules.client_keys import sidecars
from slurm_rules.made import HARMLESS, Fault
from slurm_rules.model import API_GROUP, Resource, Stack, everything, mappings, texts
from slurm_rules.mounts import folder_fault
from slurm_rules.people import people_faults
from slurm_rules.rights import as_kubernetes, harm
from slurm_rules.secret_text import words_of
from slurm_rules.spaces import asks_others, brought, confined, filters_others, foreign, spared, stays
from slurm_rules.storage import forgets
from slurm_rules.world import World

ADMISSION: Final = "admissionregistration.k8s.io"
_LISTS: Final[Mapping[str, Any]] = HARMLESS["outside"]
_STAY: Final = frozenset(_LISTS["stay"])
"""API groups, or kinds of one, whose objects act within their own namespace, or set up devices, networks and metrics."""
_OBSERVERS: Final = [(kinds.split("|"), row) for kinds, row in HARMLESS["observers"].items()]
_CLIENTS: Final = tuple(_LISTS["clients"])
_WATCHES: Final = "monitoring.coreos.com"
_SYSTEM_KINDS: Final = ("ConfigMap", "Secret", "Service", "Endpoints", "EndpointSlice", "Lease")
_CRITICAL: Final = ("system-cluster-critical", "system-node-critical")
_ENDS: Final = [{"drain"}, {"evict"}, {"eviction"}, {"reboot"}, {"pod", "deletion"}, {"delete", "pods"}, {"auto", "upgrade"}]
"""Words of fields by which controllers take pods with jobs from their nodes, a driver's upgrade among them."""
PORTS: Final = range(6817, 6821)
"""Ports of Slurm's daemons."""
_SWITCHES: Final = ("enable", "enabled", "force")
_DOORS: Final = {
    "hostPID": "is the way to the processes of the node, slurmctld's among them",
    "hostIPC": "is the way to the processes of the node, slurmctld's among them",
    "privileged": "is root of the node",
    "adminAccess": "opens devices that jobs use",
}


def elsewhere(resource: Resource, stack: Stack, world: World, options: Mapping[str, Any]) -> Iterator[Fault]:
    """Faults of a Kubernetes object outside the cluster's namespaces that isn't a role, a binding or a Release."""
    group, kind = resource.group, resource.base_kind
    yield from names(resource.get("metadata", "annotations"), "metadata.annotations", world)
    yield from writes_database(resource.get("spec"), "spec", world)
    for field in (
        ("spec", "data", "stringData") if kind in ("ConfigMap", "Secret") else ("spec", "mountOptions", "parameters")
    ):
        yield from people_faults(resource.get(field), field)
    for path, text in texts(resource.get("data"), "data") if kind == "ConfigMap" else ():
        faults = (folder_fault(folder, options) for folder in _HOST_PATH.findall(text))
        yield from (Fault(path, f"has a pod that {fault}") for fault in faults if fault)
    if judge := _BY_KIND.get(f"{group}/{kind}"):
        yield from judge(resource, world, options)
    elif group == ADMISSION:
        yield from _admission(resource, stack, world)
    elif kind in _LISTS["clusterWide"]:
        for part in ("spec", "parameters"):
            yield from names(resource.get(part), part, world)
    elif (group in _STAY or f"{group}/{kind}" in _STAY) and not _for_all(resource):
        yield from _ordinary(resource, world, options)
    elif not filters_others(resource, world):
        yield from _acting(resource, world, options)


_HOST_PATH: Final = re.compile(
    r"hostPath[\"']?:[\s{]{0,200}(?:type: ?\w{1,40}\s{1,200})?[\"']?path[\"']?:\s{0,9}[\"']?([^\s\"',}]{1,400})"
)


def _for_all(resource: Resource) -> bool:
    """Whether an object's namespace is the one from which its controller takes what counts in all of them."""
    key, space = f"{resource.group}/{resource.base_kind}", resource.namespace
    return any(fnmatchcase(key, pattern) and fnmatchcase(space, where) for pattern, where in _LISTS["forAll"].items())


def names(value: object, root: str, world: World, *, client: bool = False) -> Iterator[Fault]:
    """What names a key, a namespace or a daemon's Service of the cluster, as one who reaches for it does."""
    for path, key, part in everything(value, root):
        low = path.lower()
        place = "namespace" in low.rpartition(".")[2] and not any(word in low for word in ("selector", "exclu", "claimref"))
        said = part[:_LONGEST] if isinstance(part, str) else ""
        for text in (key or "", *(re.findall(r"[a-z0-9./-]+", said) if low.startswith("metadata") else [said])):
            space, slash, name = text.partition("/")
            within = slash and space in world.closed and re.fullmatch(r"[a-z0-9.*-]+", name) and not _ELSE.search(low)
            known = text in world.keys or text.startswith("statesave-") or (text in world.closed and place and text != key)
            if within or known:
                yield Fault(path, f"names {text} of the cluster")
    yield from leads_in(value, root, world, client=client)


_ELSE: Final = re.compile("image|path")
_LONGEST: Final = 4096
"""Longer texts are documents, which no controller reads a name from."""


def writes_database(value: object, root: str, world: World) -> Iterator[Fault]:
    """Who may write slurmdbd's database beside slurmdbd: a row there makes an administrator of Slurm."""
    for path, part in mappings(value, root):
        for name, user in world.databases if part.get("database") else ():
            grants = set(map(str, part.get("privileges") or ())) - {"SELECT", "SHOW VIEW", "USAGE"}
            others = part.get("username", part.get("user")) != user
            if part["database"] == name and ("sql" in part or (grants and others)):
                yield Fault(path, f"writes {name}, slurmdbd's database")


def _acting(resource: Resource, world: World, options: Mapping[str, Any]) -> Iterator[Fault]:
    """An object whose controller isn't known: it must say where it acts, and that isn't here."""
    spec = resource.get("spec")
    if rows := [observer for kinds, observer in _OBSERVERS if f"{resource.group}/{resource.base_kind}" in kinds]:
        yield from listed({"spec": spec}, rows[0], _STOPS)
        return
    warns = isinstance(spec, Mapping) and spec.get("enforcementAction") in ("warn", "dryrun")
    if resource.group == "constraints.gatekeeper.sh" and warns and "scopedEnforcementActions" not in spec:
        return
    rules = spec.get("rules") if isinstance(spec, Mapping) else None
    kept = [rule for rule in rules if isinstance(rule, Mapping)] if isinstance(rules, list | tuple) else []
    if not spec or not (stays(resource) or confined(spec, world) or (kept and all(confined(rule, world) for rule in kept))):
        yield Fault("", f"is of {resource.group or resource.base_kind} and doesn't say that it acts elsewhere alone")
    for path, part in mappings(spec, "spec"):
        group = part.get("group")
        within = group in _STAY and path.startswith("spec.namespaceResource")  # of a space that it names
        within = within or bool(_FORBIDS.match(path))
        if (
            isinstance(group, str)
            and "kind" in part
            and not within
            and (group == "*" or group.endswith((".k8s.io", API_GROUP)))
        ):
            yield Fault(path, f"is for kinds of {group}")
    for path, text in texts(spec, "spec"):
        within = text in world.closed and "exclu" not in path.lower()
        if within or any(f"/namespaces/{space}/" in text for space in world.closed):
            yield Fault(path, f"names the namespace {text[:60]}")
    yield from _reaching(spec or {}, "spec", world, options)


_FORBIDS: Final = re.compile(r"spec\.(?:cluster|namespace)ResourceBlacklist\[")
_STOPS: Final = "it may stop programs, or copy what they read and write"


def listed(value: object, may: Mapping[str, str], harm: str) -> Iterator[Fault]:
    """Each part of a value against the first of these forms whose paths it has; a path behind ``!`` must be there."""
    seen: set[str] = set()
    for path, _, part in everything(value):
        if part is None or isinstance(part, Mapping | list | tuple):
            continue
        bare, text = re.sub(r"\[\d{1,9}\]", "", path), f"{part:g}" if isinstance(part, float) else str(part)
        keys = next((keys for keys in may if any(fnmatchcase(bare, pattern) for pattern in keys.strip("!").split("|"))), "")
        seen.add(keys)
        if not (keys and re.fullmatch(may[keys], text)):
            yield Fault(path, f"is {text[:60]}: {harm}")
    yield from (Fault(keys[1:], f"isn't set: {harm}") for keys in may if keys.startswith("!") and keys not in seen)


def _reaching(value: object, root: str, world: World, options: Mapping[str, Any]) -> Iterator[Fault]:
    """What the words of a controller's object, or a chart's values, have made of pods, routes and whole objects."""
    yield from pods(value, root, options)
    yield from names(value, root, world)
    for path, kind in brought(value, root):
        yield Fault(path, f"brings an object of its own, {kind}; declare it as a resource, where it is judged")


def _definition(crd: Resource, _: World, __: Mapping[str, Any]) -> Iterator[Fault]:
    hooked = crd.text("spec", "conversion", "strategy") == "Webhook"
    group = crd.text("spec", "group")
    if group in ("", API_GROUP) or (hooked and group.endswith("k8s.io")):
        yield Fault("spec", "is a CustomResourceDefinition of Slinky's group, which its own chart makes")


def _service(api: Resource, _: World, __: Mapping[str, Any]) -> Iterator[Fault]:
    served = api.text("spec", "group") or api.in_cluster_name.partition(".")[2]
    if served != "metrics.k8s.io" and not foreign([served]):
        yield Fault("spec.group", f"answers for {served or 'the core group'} in its place")


def _ordinary(resource: Resource, world: World, options: Mapping[str, Any]) -> Iterator[Fault]:
    kind = resource.base_kind
    if kind == "Service" and resource.get("spec", "externalIPs"):
        yield Fault("spec.externalIPs", "takes over addresses for all pods")
    if kind not in _CLIENTS and not kind.endswith("NetworkPolicy") and resource.group != _WATCHES:
        for path, part in mappings(resource.props):
            if part.get("port") in PORTS or part.get("number") in PORTS:
                yield Fault(path, "answers on a port of Slurm's daemons")
    if kind == "Secret" and resource.text("type") == "kubernetes.io/service-account-token":
        yield Fault("type", "asks for an account's token that never ends")
    first = [path for path, part in mappings(resource.get("spec"), "spec") if part.get("priorityClassName") in _CRITICAL]
    of_nodes = kind == "DaemonSet" or (kind == "ClusterPolicy" and first == ["spec.daemonsets"])  # one pod a node each
    if first and not of_nodes and not resource.namespace.startswith("kube-"):
        yield Fault("spec", "has pods that take the place of pods with running jobs; use a PriorityClass of this stack")
    if resource.namespace.startswith("kube-") and kind in _SYSTEM_KINDS and not asks_others(resource, world):
        yield Fault("", f"changes what Kubernetes itself runs by ({resource.namespace})")
    if kind == "NodePool" and resource.get("spec", "template", "spec", "terminationGracePeriod"):
        yield Fault("spec.template.spec.terminationGracePeriod", "ends pods with running jobs, past budgets and annotations")
    for path, part in mappings(resource.props):
        if part.get("httpTokens") == "optional":
            yield Fault(f"{path}.httpTokens", "lets each pod of the machine read its credentials (IMDSv1)")
    yield from pods(resource.get("spec"), "spec", options)
    yield from as_kubernetes(resource.props, "", resource.namespace, world)
    for field in ("spec", "data"):
        client = kind in _CLIENTS or resource.group == _WATCHES
        yield from names(resource.get(field), field, world, client=client)


def leads_in(value: object, root: str, world: World, *, client: bool) -> Iterator[Fault]:
    """Texts that lead others to a daemon: its Service's name anywhere but in an address that a client asks."""
    if not world.bases:
        return
    names = "|".join(map(re.escape, sorted(world.bases)))
    services = "restapi(?:-tls)?" if client else "(?:restapi(?:-tls)?|controller|accounting)"
    pattern = re.compile(rf"(?<![a-z0-9.-])(?:{names})-{services}(?![a-z0-9-])")
    for path, key, part in everything(value, root):
        for text in (part if isinstance(part, str) else "", key or ""):
            if not pattern.search(text):
                continue
            plain = re.fullmatch(r"\s*(-{1,2}[\w-]{1,40}=)?(https?://)?[a-z0-9.-]+(:\d+)?(/[\w./-]*)?\s*", text)
            sidecar = "-restapi" not in text and any(path.startswith(f"{prefix}.") for prefix in sidecars(value, root))
            if not ((client and plain) or sidecar):
                yield Fault(path, f"leads to {pattern.findall(text)[0]}, past its NetworkPolicy and in plain text")


def pods(value: object, root: str, options: Mapping[str, Any]) -> Iterator[Fault]:
    """What takes pods of others out to their nodes, where every pod's Secrets are, or takes a node's pods away."""
    for path, part in mappings(value, root):
        for door, why in _DOORS.items():
            if part.get(door) is True and not (door == "hostPID" and _of_no_one(part)):
                yield Fault(f"{path}.{door}", why)
        if part.get("hostPort") in PORTS or (part.get("containerPort") in PORTS and "'hostNetwork': True" in str(value)):
            yield Fault(path, "answers on a port of Slurm's daemons, on the node's own address")
        yield from (Fault(f"{path}.{end}", "takes pods with running jobs from their nodes") for end in _ends(path, part))
        if part.get("hostNetwork") is True and re.search(r"'(?:CAP_)?(?:NET_RAW|NET_ADMIN)'", str(part)):
            yield Fault(f"{path}.hostNetwork", "reads what passes on the node's network, tokens in plain HTTP among it")
        added = part.get("capabilities")
        for capability in (added.get("add") if isinstance(added, Mapping) else None) or ():
            if str(capability).upper().removeprefix("CAP_") in _LISTS["strongCapabilities"]:
                yield Fault(f"{path}.capabilities", f"has {capability}, the way to the node")
        if "operator" in str(part.get("serviceAccountName") or part.get("serviceAccount") or "") and "slurm" in str(part):
            yield Fault(f"{path}.serviceAccountName", "runs as slurm-operator")
        for field in ("hostPath", "local", "hostDisk"):
            if isinstance(source := part.get(field), Mapping) and "path" in source:
                folder = normpath("/" + str(source["path"]).strip().lstrip("/"))
                looked = any(folder == looked_at or folder.startswith(f"{looked_at}/") for looked_at in _LISTS["lookedAt"])
                seen = (looked or _of_no_one(value)) and _read_only(value, str(part.get("name")))
                if not seen and (fault := folder_fault(folder, options)):
                    yield Fault(f"{path}.{field}", fault)


def _of_no_one(pods: object) -> bool:
    """Whether all containers are of the user and group 65534, who can become no other. Of a node's files they read what all
    may, of Secrets none (the kubelet's folders are root's, 0750); munged and sackd know no user by it. What else is 65534
    they may look at: slurmrestd. The capability that node-exporter adds has no effect. Source: capabilities(7)."""
    bodies = [part for _, part in mappings(pods) if isinstance(part.get("image"), str)]
    own = [body.get("securityContext") or {} for body in bodies]
    of_pods = [part for path, part in mappings(pods) if path.endswith("securityContext") and part not in own]
    given = {key for part in of_pods for key in part if part[key] is not None}
    ids = {f"{part[key]:g}" for part in (*own, *of_pods) for key in part if key in ("runAsUser", "runAsGroup", "fsGroup")}
    others = {str(name) for part in own for name in (part.get("capabilities") or {}).get("add") or ()} - {"SYS_TIME"}
    alone = all(part.get("allowPrivilegeEscalation") is False and "runAsUser" in {*part, *given} for part in own)
    return bool(own) and alone and ids == {"65534"} and not others and "supplementalGroups" not in given


def _ends(path: str, part: Mapping[str, Any]) -> list[str]:
    """Fields that are on, and by whose names, or that of the part, pods are taken from nodes; and taints that evict."""
    within = _by_name(path.rpartition(".")[2])
    evicts = part.get("effect") == "NoExecute" and "taints" in path.lower() and "template" not in path
    switched = [str(field) for field, value in part.items() if value is True or value == "true"]
    taken = [switch for switch in switched if (within and switch in _SWITCHES) or _by_name(switch)]
    taken += ["value"] if "value" in switched and _by_name(str(part.get("name"))) else []
    return [*taken, "effect"] if evicts else taken


def _by_name(name: str) -> bool:
    return any(words <= {*words_of(name)} for words in _ENDS)


def _read_only(value: object, volume: str) -> bool:
    mounts = [mount for _, part in mappings(value) for mount in part.get("volumeMounts") or ()]
    own = [mount for mount in mounts if isinstance(mount, Mapping) and mount.get("name") == volume]
    return bool(own) and all(mount.get("readOnly") is True for mount in own)


def release_faults(release: Resource, world: World, options: Mapping[str, Any]) -> Iterator[Fault]:
    """Faults of a chart's values, whatever the chart: manifests, rights, pods, and ways to slurmrestd."""
    values = release.get("values") or {}
    yield from _reaching(values, "values", world, options)
    yield from as_kubernetes(values, "values", release.text("namespace"), world)
    for path, text in texts(values, "values"):
        if text == "cluster-admin":
            yield Fault(path, "gives cluster-admin, which reads every key and ends every pod")
    for path, part in mappings(values, "values"):
        if "verbs" in part and "resources" in part:
            for fault in harm(part, world.keys):
                yield Fault(path, fault)


_TLS_NOTES: Final = ("ssl-redirect", "force-ssl-redirect")


def ingress_faults(ingress: Resource) -> Iterator[Fault]:
    """What an Ingress in the cluster's namespace opens without TLS. One that takes TLS for each of its hosts is a way for
    people to slurmrestd, which asks each for a token."""
    hosts = {str(host) for tls in ingress.get("spec", "tls") or () for host in tls.get("hosts") or ()}
    if more := set(ingress.names("spec")) - {"tls", "rules", "ingressClassName"}:
        yield Fault("spec", f"has {', '.join(sorted(more))}")
    for index, rule in enumerate(ingress.get("spec", "rules") or ({},)):
        if not hosts or str(rule.get("host", "")) not in hosts:
            yield Fault(f"spec.rules[{index}]", f"opens {rule.get('host') or 'all hosts'} without TLS")
    for name, value in (ingress.get("metadata", "annotations") or {}).items():
        if not name.startswith("cert-manager.io/") and not (name.endswith(_TLS_NOTES) and value == "true"):
            yield Fault(f"metadata.annotations.{name}", "is an annotation that its controller acts on")


def _node(node: Resource, _: World, options: Mapping[str, Any]) -> Iterator[Fault]:
    yield from marks(node.get(), "", options)
    for field, own in (("spec", {"taints"}), ("", {"apiVersion", "kind", "metadata", "spec"})):
        if more := set(node.names(*filter(None, [field]))) - own:
            yield Fault(field, f"sets {', '.join(sorted(more))} of a node")


def marks(value: object, root: str, options: Mapping[str, Any]) -> Iterator[Fault]:
    """What a node gets: labels by which controllers act, and taints that end its pods."""
    yield from pods(value, root, options)
    for path, part in mappings(value, root):
        for name in part if path.rpartition(".")[2] in ("labels", "nodeLabels", "annotations") else ():
            domain = name.partition("/")[0]
            if API_GROUP in domain or domain == "slinky-iac" or domain in _STAY:
                yield Fault(f"{path}.{name}", "is one by which a controller acts")


def _volume(volume: Resource, world: World, options: Mapping[str, Any]) -> Iterator[Fault]:
    yield from pods(volume.get("spec"), "spec", options)
    yield from names(volume.get("spec"), "spec", world)
    if volume.text("spec", "storageClassName") in world.classes - {""}:
        yield from forgets(volume.get("spec"), "spec")


def _storage_class(storage_class: Resource, world: World, _: Mapping[str, Any]) -> Iterator[Fault]:
    yield from names(storage_class.get("parameters"), "parameters", world)
    default = storage_class.peek("metadata", "annotations", "storageclass.kubernetes.io/is-default-class") == "true"
    if storage_class.in_cluster_name in world.classes or (default and "" in world.classes):
        yield from forgets(storage_class.get())


def _priority(priority_class: Resource, world: World, _: Mapping[str, Any]) -> Iterator[Fault]:
    value = priority_class.get("value")
    low = isinstance(value, int | float) and value <= 0
    if isinstance(value, int | float) and value < 0 and priority_class.in_cluster_name in world.priorities:
        yield Fault("value", "is below zero, and pods of the cluster have this class: any pod may take their place")
    if priority_class.text("preemptionPolicy") == "Never" or low:
        return
    if priority_class.get("globalDefault") is True or priority_class.in_cluster_name not in world.priorities:
        yield Fault("value", "lets pods of others take the place of pods with running jobs; use preemptionPolicy: Never")


def _admission(resource: Resource, stack: Stack, world: World) -> Iterator[Fault]:
    if resource.in_cluster_name.startswith("slinky-iac-"):
        yield Fault("metadata.name", "has a name of the fence and isn't the fence")
    elif resource.base_kind.endswith("Configuration"):
        for index, hook in enumerate(resource.get("webhooks") or ()):
            yield from _stands_before(f"webhooks[{index}]", hook.get("rules"), hook.get("namespaceSelector"), world)
    elif resource.base_kind.endswith("Policy"):
        matched: Mapping[str, Any] = resource.get("spec", "matchConstraints") or {}
        rules, selector = matched.get("resourceRules"), matched.get("namespaceSelector")
        bindings = [binding for binding in stack.resources if binding.is_a(ADMISSION, f"{resource.base_kind}Binding")]
        bound = [binding for binding in bindings if binding.text("spec", "policyName") == resource.in_cluster_name]
        by_binding = [binding.get("spec", "matchResources", "namespaceSelector") for binding in bound]
        if by_binding and all(spared(kept, world) for kept in by_binding):
            selector = by_binding[0]
        yield from _stands_before("spec.matchConstraints", rules, selector, world)
    elif not resource.text("spec", "policyName"):
        yield Fault("spec.policyName", "binds no policy that is seen")


def _stands_before(path: str, rules: list[Any] | None, selector: object, world: World) -> Iterator[Fault]:
    for rule in rules or ({"apiGroups": ["*"], "resources": ["*"]},):
        if foreign(rule.get("apiGroups")):
            continue
        kinds = {str(kind) for kind in rule.get("resources") or ("*",)}
        if spared(selector, world) and (kinds <= set(_LISTS["namespaced"]) or rule.get("scope") == "Namespaced"):
            continue
        shown, left = ", ".join(sorted(kinds)), ", ".join(sorted(world.slurm)) or "its namespace"
        yield Fault(path, f"stands before {shown} of the cluster; leave {left} out by namespaceSelector")


_BY_KIND: Final[Mapping[str, Callable[[Resource, World, Mapping[str, Any]], Iterator[Fault]]]] = {
    "/Node": _node,
    "storage.k8s.io/StorageClass": _storage_class,
    "nfd.k8s-sigs.io/NodeFeatureRule": lambda rule, _, options: marks(rule.get("spec"), "spec", options),
    "/PersistentVolume": _volume,
    "scheduling.k8s.io/PriorityClass": _priority,
    "apiextensions.k8s.io/CustomResourceDefinition": _definition,
    "apiregistration.k8s.io/APIService": _service,
}
