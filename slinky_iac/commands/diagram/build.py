"""From a stack's configuration to a picture: what is inside Kubernetes and what outside, who calls whom, who has which key.

Sources: hybrid guide (Networking, External …), docs/outside-hosts.md (Ports); slurm-operator ``restapi_app.go`` (slurmrestd
mounts both keys), ``controller_app.go``, ``accounting_app.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeVar

from slinky_iac import names
from slinky_iac.blueprint.flows import End, Flow, between
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import LoginSet, NodeSet
from slinky_iac.hostlist import compress
from slinky_iac.keys.catalogue import JWT, SLURM
from slinky_iac.specs.endpoints import Endpoint, slurmctld_endpoint, slurmdbd_endpoint

Place = Literal["desk", "control plane", "kubernetes", "outside"]
Kind = Literal["desk", "control", "daemon", "service", "nodes", "login", "database"]


@dataclass(frozen=True)
class Box:
    """Something that runs, or leads somewhere."""

    id: str
    title: str
    lines: tuple[str, ...] = ()
    place: Place = "kubernetes"
    kind: Kind = "daemon"
    keys: tuple[str, ...] = ()
    """Ids of the keys that it holds."""
    column: int = 0
    """0 desk, 1 slurmrestd, operator and API server, 2 more of Slurm in Kubernetes, 3 outside."""
    row: int = 0
    namespace: str = ""
    """Of what runs in pods or is a Service; empty where it isn't known, and of all else."""


@dataclass(frozen=True)
class Arrow:
    """Who opens a connection to whom, and on which port."""

    tail: str
    head: str
    label: str = ""
    dashed: bool = False
    """By a detour that is not drawn: the API server's service proxy."""
    both: bool = False
    """Connections are opened in both directions."""


@dataclass(frozen=True)
class Key:
    """A key by name."""

    id: str
    name: str
    text: str
    """Where it is and what it is for."""


@dataclass(frozen=True)
class Picture:
    """A hybrid cluster."""

    title: str
    description: str
    """The whole picture in a sentence or two, for who can't see it."""
    namespace: str
    """Of the cluster's own objects."""
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    keys: tuple[Key, ...]

    def caption(self, place: Place, namespace: str) -> str:
        """What the area of a place and a namespace is called."""
        if place == "outside":
            return "Outside Kubernetes"
        if place == "control plane":
            return place
        return f"{'Kubernetes · ' if namespace == self.namespace else ''}{in_namespace(namespace)}"


def in_namespace(namespace: str) -> str:
    """What a namespace is called; an empty one isn't known."""
    return f"namespace {namespace}" if namespace else "its namespace"


Set = TypeVar("Set", NodeSet, LoginSet)
BOTH: Final = ("slurm", "jwt")
MOST: Final = 4
"""NodeSets, and login sets, with a box of their own; more share one."""


def picture(config: StackConfig, title: str = "") -> Picture:
    """The picture of one cluster. ``title``: by default the cluster's name."""
    own = config.cluster.namespace
    boxes = tuple(
        replace(box, namespace=own) if box.place == "kubernetes" and box.id != "operator" else box for box in _boxes(config)
    )
    there = {box.id for box in boxes}
    arrows = tuple(arrow for arrow in _arrows(config) if {arrow.tail, arrow.head} <= there)
    return Picture(
        title=title or f"Slurm cluster {config.cluster.name}",
        description=_description(config),
        namespace=config.cluster.namespace,
        boxes=boxes,
        arrows=arrows,
        keys=tuple(_keys(config)),
    )


def _boxes(config: StackConfig) -> Iterator[Box]:
    if not config.auth.makes_daemons:
        yield from _clients(config)
        return
    signs = tuple(key.name for key in config.signing.at_hand)
    yield Box("desk", "pulumi", ("where you run it",), "desk", "desk", signs, 0, 2)
    replicas = config.restapi.replicas
    pods = f"{replicas} pod{'s' if replicas > 1 else ''}, always there"
    yield Box("rest", "slurmrestd", (pods, f":{names.SLURMRESTD_PORT}"), "kubernetes", "control", BOTH, 1, 0)
    yield _operator(config)
    yield _api(config, 2)
    yield from _slurmctld(config)
    yield from _slurmdbd(config)
    workers = tuple(_workers(config, 2))
    yield from (*workers, *_logins(config, 2 + len(workers)))
    yield from _outside(config)


def _operator(config: StackConfig) -> Box:
    """In the namespace that the stack names; where another stack installed it and this one names none, in one not known."""
    operator = config.operator
    known = operator.install or "namespace" in operator.model_fields_set
    lines = (operator.version,) if operator.install else (operator.version, "another stack's")
    namespace = operator.namespace if known else ""
    return Box("operator", "slurm-operator", lines, "kubernetes", "control", ("jwt",), 1, 1, namespace)


def _api(config: StackConfig, row: int) -> Box:
    lines = (config.kubernetes.context or "of your kubeconfig",)
    return Box("api", "API server", lines, "control plane", "control", (), 1, row)


def _clients(config: StackConfig) -> Iterator[Box]:
    """Clients alone: pods that others make take the key and slurm.conf from what the stack makes."""
    yield Box("desk", "pulumi", ("where you run it",), "desk", "desk", (), 0, 0)
    yield _api(config, 0)
    conf = names.client_conf(config.cluster.resource_name)
    lines = ("made by a hub or a chart", f"{config.auth.client_daemon} beside each", f"slurm.conf of {conf}")
    yield Box("clients", "login and Jupyter pods", lines, "kubernetes", "login", (config.auth.client_key.name,), 2, 0)
    yield from (box for box in (*_slurmctld(config), *_slurmdbd(config)) if box.place == "outside")
    yield from _outside(config)


def _slurmctld(config: StackConfig) -> Iterator[Box]:
    for service in config.slurmctld.services:
        stored = config.controller.persistence
        kept = f"queue in {stored.size}" if stored.enabled else "queue not kept"
        lines = (service, f":{names.SLURMCTLD_PORT}, {config.controller.service.type}", kept)
        yield Box("ctl", "slurmctld", lines, "kubernetes", "daemon", _judges(config), 2, 0)
    for daemon in config.slurmctld.hosts[:1]:
        shim = slurmctld_endpoint(config)
        if shim is not None:
            shown = (shim.name, f":{names.SLURMCTLD_PORT} leads to :{daemon.port}")
            yield Box("ctl-service", "Service", shown, "kubernetes", "service", (), 2, 0)
        backups = tuple(f"backup {host}" for host in daemon.backups)
        yield Box("ctl", "slurmctld", (daemon.host, *backups, f":{daemon.port}"), "outside", "daemon", _judges(config), 3, 0)


def _slurmdbd(config: StackConfig) -> Iterator[Box]:
    service = names.accounting_service(config.cluster.resource_name)
    for _ in config.slurmdbd.pods:
        lines = (service, f":{names.SLURMDBD_PORT}, {config.accounting.service.type}")
        yield Box("dbd", "slurmdbd", lines, "kubernetes", "daemon", _judges(config), 2, 1)
    for database in config.slurmdbd.databases:
        where = (database.host, f":{database.port}, {database.name}")
        yield Box("database", "MariaDB or MySQL", where, "outside", "database", (), 3, 1)
    for daemon in config.slurmdbd.hosts:
        endpoint = slurmdbd_endpoint(config)
        if endpoint is not None:
            how = "ExternalName" if endpoint.slice is None else f"leads to :{daemon.port}"
            lines = (service, f":{names.SLURMDBD_PORT}, {how}")
            yield Box("dbd-service", "Service", lines, "kubernetes", "service", (), 2, 1)
        yield Box("dbd", "slurmdbd", (daemon.host, f":{daemon.port}"), "outside", "daemon", _judges(config), 3, 1)


def _workers(config: StackConfig, row: int) -> Iterator[Box]:
    shown, rest = _boxed(config.nodesets)
    for at, (name, nodeset) in enumerate(shown):
        lines = _nodeset_lines(name, nodeset)
        yield Box(f"nodes-{name}", f"NodeSet {name}", lines, "kubernetes", "nodes", ("slurm",), 2, row + at)
    if rest:
        count = sum(nodeset.replicas for _, nodeset in rest)
        lines = (", ".join(name for name, _ in rest), f"{count} pods together, slurmd :{names.SLURMD_PORT}")
        title = f"{len(rest)} more NodeSets"
        yield Box("nodes-more", title, lines, "kubernetes", "nodes", ("slurm",), 2, row + len(shown))


def _boxed(own: Mapping[str, Set]) -> tuple[list[tuple[str, Set]], list[tuple[str, Set]]]:
    """Those with a box of their own, and those that share one."""
    sets = list(own.items())
    boxes = len(sets) if len(sets) <= MOST else MOST - 1
    return sets[:boxes], sets[boxes:]


def _nodeset_lines(name: str, nodeset: NodeSet) -> tuple[str, ...]:
    pods = "1 pod" if nodeset.replicas == 1 else f"{nodeset.replicas} pods"
    if nodeset.on_each_node:
        pods = "a pod on each node that fits"
    elif nodeset.scaled_by_others:
        pods = f"{nodeset.replicas} to {nodeset.max_replicas} pods, autoscaled"
    elif nodeset.replicas:
        pods += f": {compress(f'{name}-{index}' for index in range(nodeset.replicas))}"
    size = [f"{nodeset.resources.cpus} CPUs" if nodeset.resources.cpus else "", nodeset.resources.memory or ""]
    size += list(nodeset.gres) or [f"{n} {which}" for which, n in nodeset.resources.extended.items()]
    network = "host network, " if nodeset.pod.host_network else ""
    lines = (pods, ", ".join(part for part in size if part), f"{network}slurmd :{names.SLURMD_PORT}")
    return tuple(line for line in lines if line)


def _logins(config: StackConfig, row: int) -> Iterator[Box]:
    shown, rest = _boxed(config.logins)
    for at, (name, login) in enumerate(shown):
        pods = f"{login.replicas} pod{'' if login.replicas == 1 else 's'}, {login.service.type}"
        title, lines = f"login pods {name}", (pods, "sackd, sshd :22")
        yield Box(f"login-{name}", title, lines, "kubernetes", "login", ("slurm",), 2, row + at)
    if rest:
        lines = (", ".join(name for name, _ in rest), "sackd, sshd :22")
        title = f"{len(rest)} more login sets"
        yield Box("login-more", title, lines, "kubernetes", "login", ("slurm",), 2, row + len(shown))


def _outside(config: StackConfig) -> Iterator[Box]:
    external, row = config.external, 2
    if external.slurmd_hosts:
        held = [host.name for host in external.slurmd_hosts if host.state == "drained"]
        metal = [compress(host.name for host in external.slurmd_hosts), f"slurmd :{names.SLURMD_PORT}"]
        metal += [f"held drained: {compress(held)}"] if held else []
        yield _external_box("metal", "bare-metal hosts", tuple(metal), "nodes", ("slurm",), row)
        row += 1
    if external.login_hosts:
        lines = (compress(host.name for host in external.login_hosts), config.auth.client_daemon)
        yield _external_box("login-hosts", "login hosts", lines, "login", _held(config)[:1], row)
        row += 1
    if external.users_url:
        yield _external_box("users-rest", "slurmrestd for users", (external.users_url,), "daemon", _held(config), row)


def _judges(config: StackConfig) -> tuple[str, ...]:
    """Keys of slurmctld and slurmdbd, which take tokens or refuse them."""
    return (*_held(config), *("public" for _ in config.own_keys))


def _held(config: StackConfig) -> tuple[str, ...]:
    """Keys of a daemon outside."""
    return tuple(key.name for key in config.auth.keys)


def _external_box(box: str, title: str, lines: tuple[str, ...], kind: Kind, keys: tuple[str, ...], row: int) -> Box:
    return Box(box, title, lines, "outside", kind, keys, 3, row)


_BOXES: Final[dict[End, str]] = {
    "desk": "desk", "API server": "api", "operator": "operator", "slurmrestd": "rest", "slurmctld": "ctl",
    "slurmdbd": "dbd", "database": "database", "clients": "clients",
}  # fmt: skip
_DRAWN: Final[tuple[tuple[End, End], ...]] = (
    ("desk", "API server"),
    ("desk", "slurmrestd"),
    ("operator", "API server"),
    ("operator", "slurmrestd"),
    ("slurmrestd", "slurmctld"),
    ("slurmrestd", "slurmdbd"),
    ("clients", "slurmctld"),
    ("slurmctld", "slurmdbd"),
    ("slurmdbd", "database"),
)
"""Whose connections are drawn, in this order; then those of nodes, login pods and outside hosts to slurmctld."""
_WORKS: Final[dict[Kind, End]] = {"nodes": "slurmd", "login": "login", "daemon": "slurmrestd"}
"""Which part of the cluster runs in a box of hosts or of pods that are of a set."""


def _arrows(config: StackConfig) -> Iterator[Arrow]:
    """All that could be; those whose ends aren't in the picture are left out by the caller."""
    drawn = _DRAWN
    if not config.auth.makes_daemons:
        yield Arrow("desk", "api", "Secret, ConfigMap")
        yield Arrow("api", "clients", "mounts")
        drawn = tuple(ends for ends in _DRAWN if ends[0] != "desk")
    shown = (between(config, *ends) for ends in drawn)
    yield from dict.fromkeys(arrow for flow in shown if flow is not None for arrow in _drawn(config, flow))
    for box in (*_workers(config, 0), *_logins(config, 0), *_outside(config)):
        flow = between(config, _WORKS[box.kind], "slurmctld")
        back = between(config, "slurmctld", "slurmd") if box.kind == "nodes" else None
        label = _ports(flow) if back is None else f"{_ports(flow)}, back {_ports(back)}"
        yield Arrow(box.id, "ctl", label, both=back is not None)
    first = next(_workers(config, 0), None)
    if first is not None and config.external.slurmd_hosts:
        yield Arrow(first.id, "metal", "jobs over both", both=True)


def _drawn(config: StackConfig, flow: Flow) -> Iterator[Arrow]:
    """The arrow of a flow, or two where a Service of the stack's leads to a daemon outside."""
    tail, head = _BOXES[flow.source], _BOXES[flow.target]
    service = _service(config, flow)
    if service is not None:
        yield Arrow(tail, f"{head}-service", f":{service.service['ports'][0]['port']}")
        yield Arrow(f"{head}-service", head, _ports(flow))
    elif flow.source == "desk" and flow.target == "slurmrestd":
        proxied = config.slurmrest.url is None
        yield Arrow(tail, head, f"{flow.purpose}, {'by service proxy' if proxied else 'directly'}", dashed=proxied)
    elif flow.source == "operator" and flow.ports:
        yield Arrow(tail, head, f"{flow.purpose} {_ports(flow)}")
    else:
        yield Arrow(tail, head, _ports(flow) or flow.purpose)


def _service(config: StackConfig, flow: Flow) -> Endpoint | None:
    """The Service by which a daemon finds an outside one: slurmrestd always; slurmctld where the operator names slurmdbd
    for it, since one outside has a slurm.conf of its own."""
    by_name = flow.source == "slurmrestd" or (flow.source == "slurmctld" and config.slurmctld.owns_conf)
    maker = {"slurmctld": slurmctld_endpoint, "slurmdbd": slurmdbd_endpoint}.get(flow.target)
    return maker(config) if by_name and maker is not None else None


def _ports(flow: Flow | None) -> str:
    """The port with a number, for an arrow."""
    return ", ".join(f":{port}" for port in flow.ports) if flow is not None and isinstance(flow.ports, tuple) else ""


def _keys(config: StackConfig) -> Iterator[Key]:
    if not config.auth.makes_daemons:
        where = f"Secret {config.cluster.namespace}/{config.secret_of(config.auth.client_key).name}"
        only = f"only {config.auth.client_daemon}'s container sees it"
        text = f"{where}, {only}: anyone who has it can act as any user of the cluster"
        yield Key(config.auth.client_key.name, config.auth.client_key.label, text)
        return
    namespace, how = config.cluster.namespace, config.key_source.origin
    slurm, jwt = config.secret_of(SLURM), config.secret_of(JWT)
    yield Key("slurm", "slurm.key", f"Secret {namespace}/{slurm.name}, {how}: every daemon proves itself with it")
    of_operator = config.signing.key is not JWT
    signs = "the operator's tokens for slurmrestd" if of_operator else "the tokens for slurmrestd"
    yield Key("jwt", "JWT key", f"Secret {namespace}/{jwt.name}, {how}: signs {signs}")
    what = "signs this stack's own tokens" if of_operator else "will sign this stack's own tokens, and signs nothing yet"
    for key in config.own_keys:
        place, public = config.secret_of(key).name, key.bundle_at(config.cluster.resource_name)
        yield Key(key.name, key.label, f"Secret {namespace}/{place}, RSA, no daemon has it: {what}")
        where = f"ConfigMap {namespace}/{public.name}, outside by the hand-off"
        yield Key("public", public.entry, f"{where}: {key.the}'s public half, which signs nothing")


def _description(config: StackConfig) -> str:
    alone = not config.auth.makes_daemons
    inside, external = ["login and Jupyter pods"] if alone else ["slurm-operator", "slurmrestd"], list[str]()
    for name, daemon in (("slurmctld", config.slurmctld), ("slurmdbd", config.slurmdbd)):
        inside += [name for _ in daemon.pods]
        external += [name for _ in daemon.hosts]
    inside += [f"NodeSet {name}" for name in config.nodesets] + [f"login pods {name}" for name in config.logins]
    hosts = ((config.external.slurmd_hosts, "bare-metal slurmd"), (config.external.login_hosts, "login"))
    external += [f"{len(machines)} {what} host{'s' if len(machines) > 1 else ''}" for machines, what in hosts if machines]
    if config.external.users_url:
        external.append("a slurmrestd for users")
    beyond = f"Outside: {', '.join(external)}." if external else "Nothing of Slurm is outside."
    return f"Slurm cluster {config.cluster.name}. In Kubernetes: {', '.join(inside)}. {beyond}"
