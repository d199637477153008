"""Parts that the sheets of several roles have: ports, names, keys' places, units over the packages' own, checks that all
share; and the page about routes between pods and outside hosts. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template
from typing import Final

from slinky_iac import names
from slinky_iac.blueprint.flows import SRUN, End, flows
from slinky_iac.commands.handoff.model import SLURM_FOLDER, HostLine, KeyPlace, Placed, Port, Role, Sheet
from slinky_iac.commands.handoff.node_port import by_node_port
from slinky_iac.commands.host_shell import TRUSTED
from slinky_iac.config.fields import is_address
from slinky_iac.config.stack import StackConfig
from slinky_iac.keys.catalogue import JWT, SLURM, SecretEntry
from slinky_iac.specs.slurm_conf import Parameter

_FROM: Final[dict[End, tuple[str, ...]]] = {
    "slurmd": ("pods", "slurmd hosts"),
    "login": ("pods", "login hosts"),
    "clients": ("pods",),
    "users": ("users of REST",),
}
"""Who connects to a host, in the words of its sheet; others by their own name."""


def ports(config: StackConfig, role: Role) -> tuple[Port, ...]:
    """Ports to open on a host of the role. To the users' slurmrestd no other part of the cluster connects."""
    openings: dict[tuple[int, str], dict[str, None]] = {}
    for flow in flows(config):
        if flow.target != role.value or (role is Role.SLURMRESTD and flow.source != "users"):
            continue
        numbers = flow.ports if isinstance(flow.ports, tuple) else (0,)
        purpose = f"{flow.purpose} ({_range(config)})" if flow.purpose == SRUN else flow.purpose
        for port in numbers:
            openings.setdefault((port, purpose), {}).update(dict.fromkeys(_FROM.get(flow.source, (flow.source,))))
    return tuple(Port(", ".join(sources), port, purpose) for (port, purpose), sources in openings.items())


def _range(config: StackConfig) -> str:
    given = next((text for key, text in config.controller.extra_conf.items() if key.lower() == "srunportrange"), None)
    return f"SrunPortRange={given}" if given else "any; set SrunPortRange in slurm.conf to have a range to open"


def host_lines(config: StackConfig, slurmctld_address: str | None) -> tuple[HostLine, ...]:
    """Names that the operator writes into slurm.conf of a slurmctld in Kubernetes, for hosts outside of its DNS."""
    base, slurmctld = config.cluster.resource_name, config.slurmctld
    lines = [HostLine((slurmctld.join.host, f"{service}-0", service), slurmctld_address) for service in slurmctld.services]
    if lines:
        usual = (host for host in config.slurmdbd.hosts if host.port == names.SLURMDBD_PORT and is_address(host.host))
        lines += [HostLine((names.accounting_service(base),), host.host) for host in usual]
    return tuple(lines)


def accounting_note(config: StackConfig) -> tuple[str, ...]:
    """What login hosts need for sacct where the operator writes slurm.conf, which names slurmdbd by its Service."""
    if not config.slurmctld.owns_conf or not config.accounting.enabled:
        return ()
    service = names.accounting_service(config.cluster.resource_name)
    asked = f"sacct and sacctmgr connect to `{service}` port {names.SLURMDBD_PORT}, which the operator's slurm.conf names"
    for host in config.slurmdbd.hosts:
        if host.port != names.SLURMDBD_PORT:
            return (f"{asked}. slurmdbd listens on {host.port}, so they work in pods only.",)
        return (f"{asked}. Let the name lead to {host.host}.",)
    return (f"{asked}. Let the name lead to that Service, or use them in a login pod.",)


def network_page(config: StackConfig) -> str:
    """network.md: what must be routed for this stack, and Calico's configuration for it."""
    template = (Path(__file__).with_name("network.md")).read_text()
    parts = {name: Template(text) for name, text in re.findall(r"(?ms)^%% (\w+)\n(.*?)(?=^%% |\Z)", template)}
    host_network = [name for name, nodeset in config.nodesets.items() if nodeset.pod.host_network]
    routed = [name for name in config.nodesets if name not in host_network]
    shown = [parts["head"].substitute(cluster=config.cluster.name)]
    if routed or config.slurmctld.pods:
        own = {"namespace": config.cluster.namespace, "nodesets": ", ".join(routed) or "none"}
        shown.append(parts["routed"].substitute(own))
    if host_network:
        shown.append(parts["host"].substitute(nodesets=", ".join(host_network)))
    if config.slurmctld.pods:
        shown.append(parts["inside"].substitute())
    return "\n".join(shown)


SLURM_KEY: Final = f"{SLURM_FOLDER}/{names.SLURM_KEY_FILE}"
JWT_KEY: Final = f"{SLURM_FOLDER}/{names.JWT_KEY_FILE}"
Check = tuple[str, ...]
LIBRARY = Path(__file__).with_name("check.sh")


@dataclass(frozen=True)
class Known:
    """What the configuration alone doesn't say.

    ``slurm_key`` and ``jwt_key``: fingerprints, None where they aren't known yet. ``slurmctld_address``: where outside
    hosts reach a slurmctld that is in Kubernetes: a load balancer, or one of its nodes.
    """

    slurm_key: str | None = None
    jwt_key: str | None = None
    slurmctld_address: str | None = None
    bundles: tuple[tuple[str, str], ...] = ()
    """Names and fingerprints of files with several keys, which a host needs while one is being replaced under running jobs:
    with slurm.key alone it would be cut off at the change. Empty: not known."""
    jwt_comes: bool = False
    """The JWT key is being replaced: which of the two the daemons have now isn't known from here."""
    node_port: int | None = None
    """Port of Kubernetes' nodes that leads to slurmctld, where hosts outside come in by one; None where it isn't known."""
    public: tuple[tuple[str, str], ...] = ()
    """Names and texts of files with public keys that slurmctld and slurmdbd judge by, those that could be read."""


def public_files(known: Known) -> tuple[Placed, ...]:
    """Files of public keys as a daemon's host has them. They are no secret."""
    return tuple(Placed(f"{SLURM_FOLDER}/{file}", text, owner="slurm") for file, text in known.public)


def finished(sheet: Sheet, config: StackConfig, known: Known) -> Sheet:
    """The sheet with its ports, its way by a node port, and its check among its files."""
    script = Placed(sheet.check_path, check_script(sheet, config.cluster.name), mode=0o755)
    whole = replace(sheet, ports=ports(config, sheet.role), files=(*sheet.files, script))
    return by_node_port(whole, config, known.slurmctld_address, known.node_port)


def answers(config: StackConfig) -> tuple[Check, ...]:
    """Checks that slurmctld's hosts, as outside hosts reach them, take connections."""
    daemons = ("slurmctld", *("a backup slurmctld" for _ in config.slurmctld.joins[1:]))
    return tuple(
        ("check_tcp", join.host, str(join.port), daemon)
        for join, daemon in zip(config.slurmctld.joins, daemons, strict=True)
    )


def common(config: StackConfig, program: str, *asked: str) -> tuple[Check, ...]:
    """Checks of every role: Slurm's release (of which another command may tell), SlurmUser's uid, the clock."""
    images = config.cluster.images
    own = any((images.slurmd, images.slurmctld, *(nodeset.image for nodeset in config.nodesets.values())))
    return (
        ("check_version", program, config.slurm_release, *asked),
        ("check_user", str(names.SLINKY_UID), "loose" if own else "firm"),
        ("check_clock",),
        ("check_folder", SLURM_FOLDER),
    )


def resolved(config: StackConfig) -> tuple[Check, ...]:
    """Checks that names of Kubernetes that Slurm uses have an address on the host."""
    return tuple(("check_name", line.names[0]) for line in host_lines(config, None))


def parameters(conf: str, wanted: Iterable[tuple[Parameter, str]], known: Known) -> Iterable[Check]:
    """Checks of a configuration file's parameters."""
    for parameter, value in wanted:
        if parameter.calls is None:
            yield ("check_parameter", conf, parameter.key, value, *filter(None, [parameter.compared]))
        else:
            yield from parameter.calls(conf, value, dict(known.public))


def slurm_key_checks(known: Known, *, runs_as_root: bool = False) -> tuple[Check, ...]:
    """Checks of slurm.key and, while it is being replaced under running jobs, of slurm.jwks beside it.

    ``runs_as_root``: the daemon, so that the files may be root's; the others run as slurm and couldn't read them.
    """
    prints = ((SLURM.file, known.slurm_key or ""), *known.bundles)
    owner = () if runs_as_root else ("slurm",)
    return tuple(("check_key", f"{SLURM_FOLDER}/{file}", wanted, *owner) for file, wanted in prints)


def keys(config: StackConfig, known: Known, *, jwt: bool, at: Sequence[str] = ()) -> tuple[KeyPlace, ...]:
    """Places of slurm.key and, with ``jwt``, of the JWT key, on the hosts ``at`` where the sheet is for these alone."""
    slurm = config.secret_of(SLURM)
    places = [(names.SLURM_KEY_FILE, SLURM_KEY, slurm, known.slurm_key)]
    places += [(file, f"{SLURM_FOLDER}/{file}", slurm, wanted or None) for file, wanted in known.bundles]
    if jwt:
        places.append((names.JWT_KEY_FILE, JWT_KEY, config.secret_of(JWT), known.jwt_key))
    holder = next((host.host for host in config.slurmctld.hosts if SLURM in config.in_configuration), "")
    source = holder if holder in at else ""
    return tuple(
        KeyPlace(
            name=name,
            path=path,
            fingerprint=fingerprint,
            fetch="" if source and len(at) == 1 else _fetch(config, place, path, holder),
            holder=holder,
            source=source,
        )
        for name, path, place, fingerprint in places
    )


def _fetch(config: StackConfig, place: SecretEntry, path: str, holder: str) -> str:
    """A command that gets a key onto a host: from the host ``holder``, or, where that is empty, from the Secret that is its
    source. It takes the key whole before it asks the host, and writes nothing there over a file that is there: given for the
    host from which the key comes, a pipe into `install` would have emptied the file before `cat` had read it."""
    if holder:
        read = f"ssh root@{holder} cat {path}"
    else:
        entry = place.entry.replace(".", "\\.")
        secret, jsonpath = shlex.quote(place.name), shlex.quote(f"{{.data.{entry}}}")
        read = f"kubectl -n {config.cluster.namespace} get secret {secret} -o jsonpath={jsonpath} | base64 -d"
    put = f"test ! -e {path} && install -D -o slurm -g slurm -m 600 /dev/stdin {path}"
    return (
        f"""(k=$(mktemp) && trap 'rm -f "$k"' EXIT && {read} >"$k" && test -s "$k" && ssh root@HOST '{put}' <"$k" ||"""
        ' { echo "not placed: its source has no such key, or the host has a file there" >&2; false; })'
    )


def looks_for_keys(config: StackConfig) -> tuple[str, ...]:
    """Lines of a unit's [Service] by which its daemon finds a file of several keys that comes later, at any reconfiguration.

    Without them one that began with slurm.key continues with it (``fetch_config.c``), so its first rotation of slurm.key has
    to restart it. As long as the file isn't there, slurm.key is read as ever (auth/slurm ``internal.c``, 26.05).
    """
    return tuple(f"Environment={key.variable}={SLURM_FOLDER}/{key.bundle}" for key in config.auth.bundled)


def drop_in(service: str, command: str, *, key: str | None, kind: str = "notify", more: Sequence[str] = ()) -> Placed:
    """A systemd drop-in over the package's own unit, whose ExecStart it replaces."""
    unit = "" if key is None else f"[Unit]\n# Without its key it would start, and be refused.\nAssertPathExists={key}\n\n"
    lines = "".join(f"{line}\n" for line in more)
    text = f"""\
# {service} of a host outside Kubernetes, by slinky-iac: over the package's own unit.
{unit}[Service]
Type={kind}
{lines}# The path is absolute: {service} restarts itself with it when slurmctld sends another configuration.
ExecStart=
ExecStart={command}
"""
    return Placed(f"/etc/systemd/system/{service}.service.d/10-slinky-iac.conf", text)


def words(call: tuple[str, ...]) -> str:
    """A call of a shell function, every word quoted where it must be."""
    return " ".join(shlex.quote(word) for word in call)


def functions_for(calls: Iterable[str]) -> str:
    """The part of the library that ``calls`` need: its head and the functions named, with those that they name in turn.

    User data of a cloud has little room, so a script holds no more than it uses.
    """
    head, *pieces = re.split(r"(?m)^(?=\w+\(\) \{)", f"{LIBRARY.read_text()}\n{TRUSTED}")
    bodies = {piece.split("(", 1)[0]: piece for piece in pieces}
    used: set[str] = set()
    wanted = set(calls)
    while wanted:
        used |= wanted
        mentioned = {word for name in wanted for word in re.findall(r"\w+", bodies[name])}
        wanted = (mentioned & bodies.keys()) - used
    return head + "".join(body for name, body in bodies.items() if name in used)


def check_script(sheet: Sheet, cluster: str) -> str:
    """The whole check of a role: the functions, then one line a thing that must hold."""
    calls = "".join(f"{words(call)}\n" for call in sheet.checks)
    listing = f" With --missing only the lines to add to {sheet.edits} are printed." if sheet.edits else ""
    return f"""\
#!/bin/bash
# Is this host a {sheet.role} of the Slurm cluster {cluster}, as its stack says?{listing}
# Made by `slinky handoff`. Run it as root.
set -uf
{functions_for(call[0] for call in sheet.checks)}
{calls}
exit "$wrong"
"""
