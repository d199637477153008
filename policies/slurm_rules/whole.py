"""Objects of which a part that is missing does harm: what each has always, and what its parts say together.

``harmless.json`` (``whole``) lists their kinds, the path of the value by which they come in several forms, and the parts
that are compared as one; ``made.json`` has the forms. Without a rule of its own for slurm-operator, a NetworkPolicy shuts it
out of slurmrestd; without one of its triggers, a ScaledObject doesn't count busy nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, Final, NamedTuple

from slurm_rules.fields import short
from slurm_rules.made import HARMLESS, KINDS, Fault, Path_, like, like_any
from slurm_rules.model import Resource
from slurm_rules.values import check_of
from slurm_rules.world import World

WHOLE: Final[Mapping[str, Any]] = HARMLESS["whole"]
DAEMONS: Final = {"Controller": "slurmctld", "Accounting": "slurmdbd", "RestApi": "slurmrestd", "NodeSet": "slurmd"}
"""Kinds without whose pods jobs are lost, by what their label app.kubernetes.io/name is."""
_FEWEST_BITS: Final = {4: 8, 6: 16}
"""Length of the widest network that a site's setting names: 0.0.0.0/1 and its other half are all addresses."""


def steps(path: str) -> Path_:
    """A path as ``made.json`` writes it, in parts."""
    return tuple(path.split(" ")) if path else ()


def at(value: Any, path: Path_) -> Iterator[Any]:  # noqa: ANN401 - JSON values
    """Every value at a path; ``[]`` is each item of a list."""
    if not path:
        yield value
    elif path[0] == "[]":
        for part in value if isinstance(value, list | tuple) else ():
            yield from at(part, path[1:])
    elif isinstance(value, Mapping) and path[0] in value:
        yield from at(value[path[0]], path[1:])


def parted(kind: str, value: Any, path: Path_) -> Iterator[Any]:  # noqa: ANN401
    """The parts at a path, without what a check judges alone; a rule for several peers is one part for each."""
    for piece in at(value, path):
        bare = _bare(kind, piece, path)
        if isinstance(bare, Mapping) and bare.keys() <= {"from", "to", "ports"}:
            peers = bare.get("from") or bare.get("to") or [None]
            yield from ({"peer": peer, "ports": bare.get("ports", [])} for peer in peers)
        else:
            yield bare


def _bare(kind: str, value: Any, path: Path_) -> Any:  # noqa: ANN401
    if isinstance(value, Mapping):
        kept = {key: (*path, str(key)) for key in value if check_of(kind, (*path, str(key))) is None}
        return {key: _bare(kind, value[key], where) for key, where in kept.items()}
    if isinstance(value, list | tuple):
        return [_bare(kind, part, (*path, "[]")) for part in value]
    return value


def whole_faults(kind: str, resource: Resource, world: World) -> Iterator[Fault]:
    """What one object of these kinds lacks, and which of its parts the program doesn't write in it."""
    if kind not in WHOLE:
        return
    props, by = resource.get(), steps(WHOLE[kind]["by"])
    forms = KINDS[kind]["whole"]
    named = [form for form in forms if like(resource.in_cluster_name, form["name"], world)]
    if not named and len({form["name"] for form in forms}) > 1:
        yield from _of_site(kind, resource, forms, world)
        return
    form = next((candidate for candidate in named or forms if like(list(at(props, by)), candidate["by"], world)), None)
    if form is None:
        yield Fault(".".join(by), "is none that the program writes in an object of this name")
        return
    for path, wanted in form["has"].items():
        for part in at(props, steps(path)):
            missing = [key for key in wanted if not isinstance(part, Mapping) or part.get(key) is None]
            yield from (Fault(".".join((*steps(path), key)), "is missing, and the program writes it") for key in missing)
    for path, made in form["parts"].items():
        parts = list(parted(kind, props, steps(path)))
        for piece in parts if path not in WHOLE[kind]["open"] else ():
            if not like_any(piece, made, world) and not _of_setting(piece, made):
                yield Fault(_place(path), f"has {short(piece, 160)}, which the program doesn't write there")
        for template in form["always"][path]:
            needed = daemon_of(template) in {None, *map(DAEMONS.get, world.daemons)}
            if needed and not any(like(part, template, world) for part in parts):
                yield Fault(_place(path), f"lacks {short(template, 160)}, which the program always writes there")


def _of_site(kind: str, policy: Resource, forms: list[Any], world: World) -> Iterator[Fault]:
    """A NetworkPolicy of a name of the site's own. Policies add up, but the first that selects a pod shuts out the rest."""
    spec: Mapping[str, Any] = policy.get("spec") or {}
    selector, rules = spec.get("podSelector") or {}, [rule or {} for rule in spec.get("egress") or ()]
    labels = selector.get("matchLabels") or {}
    daemon = daemon_of({"peer": {"podSelector": selector}})
    own = [form for base in sorted(world.bases) for form in forms if like(f"{base}-{daemon}", form["name"], world)]
    named = daemon or labels.get("app", "") not in {"", *world.apps}
    if selector.keys() != {"matchLabels"} or not named or policy.namespace not in world.slurm:
        yield Fault("spec.podSelector", "may select the cluster's own pods; name the pods by app.kubernetes.io/name or app")
    if not own:
        return
    needed = {way for way in spec.get("policyTypes") or ("Ingress", *(["Egress"] if rules else []))}
    held = {way for way in needed if all((f"{base}-{daemon}", way) in world.policies for base in world.bases)}
    closes = "Egress" in needed - held and not any(map(_all_but_metadata, rules))
    shut = "others" if "Ingress" in needed - held else next(_shut(str(daemon), rules, policy, world), "") if closes else ""
    if shut:
        yield Fault("spec.policyTypes", f"shuts {daemon} off from {shut}, which no policy of the program's does")
    made = [part for form in own for part in form["parts"]["spec ingress []"]]
    for part in parted(kind, policy.get(), steps("spec ingress []")):
        peer = part.get("peer") or {}
        if not _of_setting(part, made) or not (peer.get("podSelector") or peer.keys() == {"ipBlock"}):
            yield Fault("spec.ingress", f"lets {short(part, 160)} in; name pods or a network, and ports of {daemon}")


_METADATA: Final = re.compile(WHOLE["metadata"])


def _all_but_metadata(rule: Mapping[str, Any]) -> bool:
    """Whether a rule lets all connections out but those to a cloud's metadata."""
    blocks = [peer.get("ipBlock") or {} for peer in rule.get("to") or ()]
    wide = [block for block in blocks if block.get("cidr") == "0.0.0.0/0"]
    spared = all(_METADATA.fullmatch(str(net)) for block in wide for net in block.get("except") or ())
    return not rule.get("ports") and spared and (bool(wide) or not rule.get("to"))


_SETTLED: Final = ("slurmdbd", "slurmrestd")
"""Daemons whose connections are all known. The others answer hosts outside, clients and what users start."""
_SPACE: Final = "kubernetes.io/metadata.name"


class _Way(NamedTuple):
    """A connection that a daemon makes: to all pods with some labels of a namespace, or to an address, and to which port."""

    what: str
    space: str
    labels: Mapping[str, str]
    port: float
    protocol: str = "TCP"


def _shut(daemon: str, rules: list[Any], policy: Resource, world: World) -> Iterator[str]:
    """What a daemon needs and no longer reaches where one policy has all rules for what its pods send."""
    if daemon not in _SETTLED or len(world.bases) != 1 or world.slurm != {policy.namespace}:
        yield "others"
        return
    for way in _ways(daemon, policy.namespace, world):
        here = way.what in (*map(DAEMONS.get, world.daemons), "DNS", "its database")
        if not here or not any(_lets(rule, way, policy.namespace, world) for rule in rules):
            yield f"{way.what} ({way.protocol} {way.port:g})"


def _ways(daemon: str, space: str, world: World) -> Iterator[_Way]:
    """Sources: made.json, where each daemon's policy says who connects to it; slurmdbd.conf(5), StorageHost."""
    yield from (_Way("DNS", "kube-system", {"k8s-app": "kube-dns"}, 53, protocol) for protocol in ("UDP", "TCP"))
    for always in (form["always"] for form in KINDS["networking.k8s.io/NetworkPolicy"]["whole"]):
        labels = always["spec podSelector"][0]["matchLabels"]
        for part in always["spec ingress []"]:
            if daemon_of(part) == daemon:
                target = labels["app.kubernetes.io/name"]
                yield from (_Way(target, space, labels, row["port"]) for row in part["ports"])
    for host, port in sorted(world.stores or {("", 0)}) if daemon == "slurmdbd" else ():
        name, *domain = host.split(".")
        inside = domain[1:] in ([], ["svc"], ["svc", "cluster", "local"]) and not _address(host)
        yield _Way("its database", (domain or [space])[0] if name and inside else f"@{host}", {}, port)


def _lets(rule: Mapping[str, Any], way: _Way, own: str, world: World) -> bool:
    """Whether a rule of a policy of the namespace ``own`` leaves a way open to all that it leads to."""
    if rule.get("to") and not any(_is_at(peer, way, own, world) for peer in rule["to"]):
        return False
    return not rule.get("ports") or any(
        (row.get("protocol") or "TCP") == way.protocol
        and (row.get("port") is None or _within(way.port, row["port"], row.get("endPort") or row["port"]))
        for row in rule["ports"]
    )


def _within(port: float, first: Any, last: Any) -> bool:  # noqa: ANN401 - a port may have a name, which is none of ours
    return isinstance(first, int | float) and isinstance(last, int | float) and first <= port <= last


def _is_at(peer: Mapping[str, Any], way: _Way, own: str, world: World) -> bool:
    """Whether a peer is all that a way leads to."""
    if way.space.startswith("@"):
        address, block = _address(way.space[1:]), peer.get("ipBlock") or {}
        return address is not None and block.keys() == {"cidr"} and address in ip_network(block["cidr"], strict=False)
    if not peer or not peer.keys() <= {"podSelector", "namespaceSelector"}:
        return False
    spaces, pods = peer.get("namespaceSelector"), peer.get("podSelector") or {}
    there = way.space == own if spaces is None else spaces in ({}, {"matchLabels": {_SPACE: way.space}})
    labels = pods.get("matchLabels") or {}
    return (
        there
        and pods.keys() <= {"matchLabels"}
        and all(key in way.labels and like(value, way.labels[key], world) for key, value in labels.items())
    )


def _address(host: str) -> IPv4Address | IPv6Address | None:
    with suppress(ValueError):
        return ip_address(host)
    return None


def daemon_of(part: object) -> str | None:
    """The daemon that a rule of a NetworkPolicy is for; it is needed where the stack runs that one."""
    peer = part.get("peer") if isinstance(part, Mapping) else None
    selector = peer.get("podSelector") if isinstance(peer, Mapping) else None
    labels = selector.get("matchLabels") if isinstance(selector, Mapping) else None
    return labels.get("app.kubernetes.io/name") if isinstance(labels, Mapping) else None


def _of_setting(part: object, made: list[Any]) -> bool:
    """Whether a NetworkPolicy's peer is one that a setting names: a network, pods by label, or a namespace by name."""
    if not isinstance(part, Mapping) or part.keys() != {"peer", "ports"} or not isinstance(part["peer"], Mapping):
        return False
    if not any(part["ports"] == template["ports"] for template in made if template["peer"] is not None):
        return False
    peer = part["peer"]
    if peer.keys() == {"ipBlock"}:
        address, _, length = str(peer["ipBlock"].get("cidr")).partition("/")
        return peer["ipBlock"].keys() == {"cidr"} and int(length or 0) >= _FEWEST_BITS[6 if ":" in address else 4]
    labels = [selector.get("matchLabels") for selector in peer.values() if selector.keys() == {"matchLabels"}]
    return len(labels) == len(peer) and all(labels) and peer.keys() <= {"podSelector", "namespaceSelector"}


def _place(path: str) -> str:
    return path.replace(" []", "").replace(" ", ".")
