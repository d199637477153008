"""Values of the program's fields that its settings choose: what each may be where it could do harm.

Which field has which check is in ``harmless.json`` (``checks``); all others have the values that ``made.json`` lists.
``unit`` stands for a whole part that is compared as one, ``free`` for what can do no harm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import ceil
from typing import Any, Final
from urllib.parse import urlsplit

from slurm_rules.compute import quantity
from slurm_rules.daemon_variables import OF_USERS, OWN, fault_of_variable, is_written
from slurm_rules.gates import pickled
from slurm_rules.made import HARMLESS, MADE, Asked, Judging, Path_, Said, known_below, like_any
from slurm_rules.model import everything
from slurm_rules.mounts import claim, evicts, holds_key, matches, mount, retention, volume
from slurm_rules.world import World

_LISTS: Final[Mapping[str, Any]] = HARMLESS["values"]
_SSHD: Final = [(words.split("|"), re.compile(form)) for words, form in _LISTS["sshd"].items()]


@cache
def _rows() -> tuple[tuple[frozenset[str], tuple[frozenset[str], ...], str], ...]:
    """Kinds, path and check of each row of ``checks``. ``*`` is any key, ``**`` all below, ``|`` parts words."""
    rows = []
    for line in HARMLESS["checks"]:
        kinds, path, check = line.split(" ; ")
        for group, members in HARMLESS["kinds"].items():
            kinds = kinds.replace(group, members)
        rows.append((frozenset(kinds.split("|")), tuple(frozenset(part.split("|")) for part in path.split(" ")), check))
    return tuple(rows)


@cache
def _rows_of(kind: str) -> list[tuple[tuple[frozenset[str], ...], str]]:
    """Path and check of the rows that are for a kind."""
    short = kind.rsplit("/", 1)[-1]
    names = (short, f"{short.partition(':')[0]}:*", "*")
    return [(path, check) for kinds, path, check in _rows() if not kinds.isdisjoint(names)]


def _along(path: Path_, wanted: tuple[frozenset[str], ...]) -> bool:
    return all(not words.isdisjoint((part, "*")) for words, part in zip(wanted, path, strict=False))


@cache
def check_of(kind: str, path: Path_) -> str | None:
    """Name of the check for a path of a kind; None where the values of ``made.json`` count."""
    for wanted, check in _rows_of(kind):
        deep = "**" in wanted[-1]
        parts = wanted[:-1] if deep else wanted
        if (len(path) == len(parts) or (deep and len(path) > len(parts))) and _along(path, parts):
            return check
    return None


@cache
def may_lead(kind: str, path: Path_) -> bool:
    """Whether a checked path of a kind is below this one."""
    return any(len(path) < len(wanted) and _along(path, wanted) for wanted, _ in _rows_of(kind))


def _label(asked: Asked) -> str | None:
    if asked.key.startswith("pod-security.kubernetes.io/"):
        strict = asked.key.endswith("/enforce") and asked.value == "restricted"  # slurmd's pods would not be made
        return "refuses slurmd's pods" if strict or asked.value not in ("privileged", "baseline", "restricted") else None
    known = "/" not in asked.key or _for_costs(asked.key) or matches(asked.key, _LISTS["labels"])
    return None if known else "is a label that others may act on"


def _for_costs(key: str) -> bool:
    """Whether a label or an annotation of a site's domain says who owns or pays for something."""
    domain, _, name = key.rpartition("/")
    return set(re.split("[-_.]", name)) <= {*_LISTS["costs"]} and not _ACTED_BY.search(domain)


_ACTED_BY: Final = re.compile(r"(?:k8s|kubernetes)\.io$|^slinky|(?:^|\.)(?:cloud\.google|amazonaws|azure)\.com$")
"""Domains of Kubernetes, of clouds and of Slinky: what a word means there, their controllers say."""


def _namespace_label(asked: Asked) -> str | None:
    return _label(asked) if asked.key.startswith("pod-security.kubernetes.io/") else "is a label that others may act on"


def _not_a_key(asked: Asked) -> str | None:
    return f"is {asked.value}, a Secret with a key of the cluster" if is_key(str(asked.value), asked.judging.world) else None


def is_key(name: str, world: World) -> bool:
    """Whether a Secret of this name has a key of the cluster."""
    return name in world.keys or "-auth-" in name or name.endswith(("-token-key", "-slurm-jwks"))


def _quota(asked: Asked) -> str | None:
    """Limits of what the cluster doesn't need, or above what it has."""
    world, key = asked.judging.world, asked.key
    compute = key.removeprefix("requests.").removeprefix("limits.") in ("cpu", "memory")
    unused = key in ("services.nodeports", "services.loadbalancers") and not world.balanced
    least = world.pods if key in ("pods", "count/pods") else 0 if unused else _LISTS["quota"].get(key, 1)
    return "keeps the cluster's own pods out" if compute or (quantity(asked.value) or 0) < least else None


def _alerts(asked: Asked) -> str | None:
    records = "record" in {key for _, key, _ in everything(asked.value)}
    return "records a metric, which an autoscaler may count" if records else None


def _same_cluster(asked: Asked) -> str | None:
    known = asked.judging.world.reach.get(asked.key, frozenset())
    if fault := _local(asked):
        return fault
    return None if len(known) < 2 else f"is {asked.value!r}, and the stack's gates have {len(known)} of them"


def _stack_address(asked: Asked) -> str | None:
    known = asked.judging.world.hosts
    addresses = [host for host in known if host.replace(".", "").isdigit() or ":" in host]
    return f"is {asked.value}, which isn't a host of this stack" if addresses and asked.value not in known else None


def _note(asked: Asked) -> str | None:
    if asked.key in _LISTS["noteValues"]:
        wanted = _LISTS["noteValues"][asked.key]
        return None if asked.value == wanted else f"isn't {wanted}, so that pods with jobs may be ended"
    known = "/" not in asked.key or _for_costs(asked.key) or matches(asked.key, _LISTS["notes"])
    return "is an annotation that others may act on" if asked.key in _LISTS["ownNotes"] or not known else None


def _own_note(asked: Asked) -> str | None:
    """Of a daemon with keys: a second network's annotation is one by which its pod leaves its NetworkPolicies."""
    network = matches(asked.key, _LISTS["networks"])
    return "gives the pod a network where no NetworkPolicy holds" if network else _note(asked)


def _offer(asked: Asked) -> str | None:
    return None if matches(asked.key, _LISTS["offers"]) else _note(asked)


VALUED: Final = frozenset(_LISTS["noteValues"])
"""Annotations of which the value counts."""


def _class(asked: Asked) -> str | None:
    known = pickled(str(asked.value)) == MADE["classes"].get(asked.kind, "")
    return None if known else "is the code of another class than this kind of resource has"


def _signer(asked: Asked) -> str | None:
    name, world = str(asked.value), asked.judging.world
    own = not name or name in world.keys or any(name.startswith(f"{base}-") for base in world.bases)
    return None if own else f"is {name}, by which no daemon of the stack judges tokens"


_KUBERNETES_OWN = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
_LEAST_TOLERATED: Final = 300
"""Seconds: what Kubernetes itself gives pods of a node that doesn't answer."""
_LEAST_AMOUNT: Final = {"cpu": 0.01, "memory": 32 * 2**20, "storage": 64 * 2**20, "ephemeral-storage": 8 * 2**30}


def _amount(asked: Asked) -> str | None:
    least, amount = _LEAST_AMOUNT.get(asked.key, 0), quantity(asked.value)
    if asked.key == "ephemeral-storage" and amount is not None and amount < (most := evicts(asked.kind)):
        return f"is {asked.value}, above which the pod is evicted with its jobs; at least {most / 2**30:g}Gi"
    return f"is {asked.value}, with which no daemon runs" if amount is not None and amount < least else None


def _toleration(asked: Asked) -> str | None:
    value = asked.value if isinstance(asked.value, Mapping) else {}
    if not value.get("key") or str(value["key"]) in _KUBERNETES_OWN:
        return f"reaches nodes of {value.get('key') or 'any taint'}, those of Kubernetes itself among them; name another key"
    seconds = value.get("tolerationSeconds")
    short = isinstance(seconds, int | float) and seconds < _LEAST_TOLERATED
    return f"ends pods {seconds:g} s after their node was late; at least {_LEAST_TOLERATED}" if short else None


def _off(asked: Asked) -> str | None:
    """What the provider fills in where nothing is asked for."""
    return f"is {asked.value!r}" if asked.value not in (None, False, 0, "", [], {}) else None


def _env(asked: Asked) -> str | None:
    """By the program's own table. A variable of the program's is as it makes it, and one made of a limit is that limit."""
    value = asked.value if isinstance(asked.value, Mapping) else {}
    kind, name, text = asked.kind.rpartition("/")[2], str(value.get("name")), str(value.get("value", ""))
    if "value" in value and is_written(kind, name, text):
        off = set(value) != _LITERAL or _is_off(asked, text)
        return f"({name}) isn't what the limits of its container give" if off else None
    if set(value) != _LITERAL:
        if kind not in OF_USERS or set(value) != {"name", "valueFrom"}:
            return "isn't a name and a value alone"
        if why := _source(asked, value["valueFrom"]):
            return f"({name}) {why}"
    fault = fault_of_variable(kind, name, text)
    return f"has {name}: {fault.value}" if fault else None


_LITERAL: Final = {"name", "value"}


def _source(asked: Asked, source: object) -> str | None:
    """Of a variable in pods that run what users bring: a field of the pod, or what a Secret or a ConfigMap has, but for keys
    of the cluster."""
    if not isinstance(source, Mapping) or len(source) != 1:
        return "has a source that isn't one alone"
    ((form, reference),) = source.items()
    if form in _OF_POD:
        return None if isinstance(reference, Mapping) and reference else f"has an empty {form}"
    if form not in _OF_OBJECT or not isinstance(reference, Mapping):
        return f"comes from {form}; it may come from {', '.join((*_OF_POD, *_OF_OBJECT))}"
    if not (isinstance(reference.get("name"), str) and reference.get("name") and reference.get("key")):
        return f"comes from {form} without a name and a key"
    is_key = form == "secretKeyRef" and holds_key(reference["name"], asked)
    return f"comes from {reference['name']}, a Secret with a key of the cluster" if is_key else None


_OF_POD: Final = ("fieldRef", "resourceFieldRef")
_OF_OBJECT: Final = ("secretKeyRef", "configMapKeyRef")


def _is_off(asked: Asked, text: str) -> bool:
    """Whether a variable isn't what the limit gives of which it is made: CPUs rounded up, mebibytes rounded down."""
    own = OWN[str(asked.value["name"])]
    if not own.limit or asked.resource is None:
        return False
    size = quantity(asked.resource.get("spec", "slurmd", "resources", "limits", own.limit))
    return size is None or text != str(max(1, ceil(size)) if own.limit == "cpu" else int(size // 2**20))


def _probe(asked: Asked) -> str | None:
    """A probe of the daemon's own port, by whose failures the kubelet ends a container a minute later at the earliest."""
    table, ready = _LISTS["probes"], asked.key == "readinessProbe"
    asks = {way: form.replace("livez", "(?:livez|readyz)" if ready else "livez") for way, form in table[asked.kind].items()}
    value = dict(asked.value) if isinstance(asked.value, Mapping) else {}
    said = {way: re.sub(r"[{}' ]|\.0\b", "", str(dict(sorted(value.pop(way).items())))) for way in asks if way in value}
    if len(said) != 1 or not all(re.fullmatch(asks[way], text) for way, text in said.items()):
        return f"asks {said or 'nothing'}; the daemon answers one of {asks}"
    if not value.keys() <= set(table["numbers"]) or not all(isinstance(number, int | float) for number in value.values()):
        return f"has {', '.join(sorted(value))}; it may have numbers of {', '.join(table['numbers'])}"
    seconds = value.get("periodSeconds", 10) * value.get("failureThreshold", 6)  # the operator's own, where it says none
    short = not ready and seconds < table["leastSeconds"]
    return f"ends the daemon after {seconds:g} s without an answer; at least {table['leastSeconds']}" if short else None


def _made_here(asked: Asked) -> str | None:
    """Prologs and epilogs: of a ConfigMap of this stack, where they are judged. slurmctld's claim: one that was there."""
    kind, world = ("PersistentVolumeClaim" if asked.key == "existingClaim" else "ConfigMap"), asked.judging.world
    made = not world.made.isdisjoint((kind, space, asked.value) for space in world.slurm)
    if kind == "ConfigMap":
        return None if made else f"is {asked.value}, which this stack doesn't make: root runs what others write there"
    return f"is {asked.value}, which this stack makes empty: slurmctld would know no job that runs" if made else None


def _sized(asked: Asked) -> str | None:
    """Requests and limits of a container, with limits that it can start with."""
    value = asked.value if isinstance(asked.value, Mapping) else {}
    asks, limits = value.get("requests") or {}, value.get("limits") or {}
    short = [key for key, most in limits.items() if (quantity(asks.get(key)) or 0) > (quantity(most) or 0)]
    faults = [_amount(replace(asked, value=most, key=key)) for key, most in limits.items()]
    if short or value.keys() - {"requests", "limits"}:
        return f"has {', '.join(short or value)}: it may have requests, and limits not below them"
    return next(filter(None, faults), None)


def _sshd(asked: Asked) -> str | None:
    for line in str(asked.value).splitlines():
        word, _, value = re.sub(r"[\s=]+", " ", line.strip()).partition(" ")
        known = any(word.lower() in words and form.fullmatch(value.strip()) for words, form in _SSHD)
        if word and not word.startswith("#") and not known:
            return f"sets {word.lower()} of sshd to {value[:60]}"
    return None


def _local(asked: Asked) -> str | None:
    """A path or a name of this machine; never a document."""
    text = str(asked.value)
    whole = "\n" in text or "{" in text or ": " in text or len(text) > 1024 or "://" in text
    return "isn't a path or a name" if whole else None


def _address(asked: Asked) -> str | None:
    text = str(asked.value).strip()
    if not text:
        return None
    parts = urlsplit(text)
    host = (parts.hostname or "").lower()
    own = host in ("localhost", "127.0.0.1", "::1")
    services = {f"{base}-restapi" for base in asked.judging.world.bases}
    within = host.split(".")[0].removesuffix("-tls") in services and host.split(".")[1:2] in (
        [[space] for space in asked.judging.world.slurm] if "." in host else [[]]
    )
    if not (own or within or asked.judging.world.knows(host) or matches(host, asked.options["hosts"])):
        return f"leads to {host or 'no host'}, which isn't a host of this stack (hosts)"
    if parts.scheme != "https" and not own and host not in asked.options["plainHttpHosts"]:
        return f"has the scheme {parts.scheme or 'none'}, so tokens pass in plain text (plainHttpHosts)"
    return None


def _stack_host(asked: Asked) -> str | None:
    known = asked.value in asked.judging.world.hosts or matches(str(asked.value), asked.options["hosts"])
    return None if known else f"leads to {asked.value}, which isn't a host of this stack (hosts)"


def _own_host(asked: Asked) -> str | None:
    host = (urlsplit(str(asked.value)).hostname or "").lower()
    known = asked.judging.world.reaches(host) or matches(host, asked.options["hosts"])
    return None if known else f"asks {asked.value}, which isn't a host of this stack (hosts)"


def _metrics_url(asked: Asked) -> str | None:
    known = any(f"/metrics/{page}" in str(asked.value) for page in ("partitions", "jobs"))
    return _own_host(asked) if known else f"asks {asked.value}"


def _metric(asked: Asked) -> str | None:
    known = asked.value in asked.options["metrics"]
    return None if known else f"scales by {asked.value}, which isn't known to count busy nodes (metrics)"


CHECKS: Final[Mapping[str, Said]] = {
    check.__name__.strip("_").replace("_", "-"): check
    for check in (
        *(
            _label,
            _namespace_label,
            _not_a_key,
            _quota,
            _alerts,
            _same_cluster,
            _stack_address,
            _note,
            _own_note,
            _offer,
            _class,
        ),
        *(_signer, _amount, _toleration, _off, volume, mount, claim, retention, _env),
        *(_probe, _made_here, _sized, _sshd, _local, _address, _stack_host, _own_host, _metrics_url, _metric),
    )
}


def fault_of(check: str, asked: Asked) -> str | None:
    """What a check says of a value. One that begins with ``~`` is a pattern of all that the value may be."""
    if check == "image":
        asked.judging.images.append(("", str(asked.value)))
        return None
    if not check.startswith("~"):
        return CHECKS[check](asked)
    text = f"{asked.value:g}" if isinstance(asked.value, float) else str(asked.value)
    return None if re.fullmatch(check[1:], text, re.DOTALL) else f"is {text[:60]!r}, which no setting gives"


def made_so(kind: str, path: Path_, value: object, judging: Judging) -> bool:
    """Whether the program makes this very value at a path."""
    known = known_below(kind, path)
    return bool(known) and like_any(value, known.get("", ()), judging.world)  # type: ignore[union-attr]
