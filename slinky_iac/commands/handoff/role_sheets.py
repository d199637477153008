"""What each role needs, decided from the stack's configuration and what is known of it. Pure.

Sources: slurm.conf(5), slurmdbd.conf(5), sackd(8), the hybrid guide, and what the lab showed: sackd and slurmd re-execute
themselves by the path that they were started with when slurmctld sends a new configuration, so that path is absolute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from slinky_iac import names
from slinky_iac.addresses import listed
from slinky_iac.blueprint.flows import users_port
from slinky_iac.commands.handoff import common
from slinky_iac.commands.handoff.common import JWT_KEY, SLURM_KEY, Check, Known
from slinky_iac.commands.handoff.model import SLURM_FOLDER, Handoff, Host, Placed, Role, Sheet
from slinky_iac.config.operator.conf import GRES_CONF
from slinky_iac.config.slurm.node_gres import outside_line
from slinky_iac.config.slurm.power import LINE
from slinky_iac.config.slurm.slurmd_hosts import SlurmdHost
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import LoginHost
from slinky_iac.errors import HandoffError
from slinky_iac.parts.registry import outside_files
from slinky_iac.specs.slurm_conf import commented, outside_lines, outside_slurm_conf, parameter, required


def roles_of(config: StackConfig) -> tuple[Role, ...]:
    """Roles that a stack has outside, or may have: slurmd and login hosts can join any."""
    external = {
        Role.SLURMCTLD: bool(config.slurmctld.hosts),
        Role.SLURMDBD: bool(config.slurmdbd.hosts),
        Role.SLURMRESTD: bool(config.external.users_url),
        Role.SLURMD: True,
        Role.LOGIN: True,
    }
    return tuple(role for role, there in external.items() if there)


def handoff(config: StackConfig, known: Known, wanted: Sequence[Role] = ()) -> Handoff:
    """The hand-off of a stack for the roles wanted; for all that it has outside, where none is named.

    Raises :class:`HandoffError` for a role that is in Kubernetes.
    """
    if refused := config.auth.refusals.get("handoff"):
        raise HandoffError(refused)
    there = roles_of(config)
    for role in wanted:
        if role not in there:
            raise HandoffError(
                f"role {role}: this stack has no {role} outside Kubernetes, so there is nothing to hand off; it has"
                f" {', '.join(there)}"
            )
    makers = {
        Role.SLURMCTLD: _slurmctld,
        Role.SLURMDBD: _slurmdbd,
        Role.SLURMRESTD: _slurmrestd,
        Role.SLURMD: _slurmd,
        Role.LOGIN: _login,
    }
    sheets = (makers[role](config, known) for role in there if not wanted or role in wanted)
    return Handoff(
        cluster=config.cluster.name,
        release=config.slurm_release,
        sheets=tuple(common.finished(sheet, config, known) for sheet in sheets),
        network=common.network_page(config),
        open_points=tuple(_open_points(config, known)),
    )


def _open_points(config: StackConfig, known: Known) -> Iterable[str]:
    if None in (known.slurm_key, known.jwt_key):
        how = config.key_source.unknown_prints
        yield f"The keys' fingerprints, so the checks can't tell a wrong key from the right one; {how}"
    if any(key.bundle not in dict(known.public) for key in config.own_keys):
        yield (
            "The set of public keys (jwks.json) of this stack's tokens: render again with the stack's passphrase at hand, or"
            " after `pulumi up`"
        )
    if known.bundles:
        yield (
            "How long these keys hold: slurm.key is being replaced under running jobs, so hosts need slurm.jwks beside it"
            " until that has ended. Name hosts that join now in the configuration before the next step of `keys rotate"
            " slurm`: it takes along those that it knows, and the others are cut off at the change. Without --with-keys the"
            " file is that of slurmctld's host, once step learn-hosts is done there"
        )
    if known.jwt_comes:
        yield (
            "Which JWT key slurmctld and slurmdbd have: it is being replaced, and this is the old one. Place none of it on"
            " their hosts, and render again when `keys rotate jwt` has ended; slurmd and login hosts need neither"
        )
    if config.slurmctld.services and known.slurmctld_address is None:
        yield (
            "The address of slurmctld's Service: give it by --slurmctld-address (a LoadBalancer's, or any node's with a"
            " NodePort), else outside hosts must have its names in DNS"
        )
    elif config.slurmctld.is_at_node_ports and known.node_port is None:
        yield (
            "The port of Kubernetes' nodes that leads to slurmctld isn't known yet: render again after `pulumi up`."
            " Until then these files have no address for slurmctld's names"
        )


_GRES_CONF = f"{SLURM_FOLDER}/{GRES_CONF}"
_GRES = (
    "Nodes in pods get this host's gres.conf too, and find their GPUs by it. If it has no line for the pods' devices, add"
    " `{line}`{vendor}. Metal with other devices keeps its own lines, by NodeName=."
)
_VENDOR = ", with what your devices need in the place of … (gres.conf(5), AutoDetect)"
_SHARED = ", and a StateSaveLocation that all of slurmctld's hosts share (slurm.conf(5), SlurmctldHost)"


# -- the roles ----------------------------------------------------------------------------------------------------


def _slurmctld(config: StackConfig, known: Known) -> Sheet:
    hosts = [host.host for host in config.slurmctld.hosts]
    conf = "/etc/slurm/slurm.conf"
    lines, gpus = outside_lines(config), outside_line(config)
    restarts = tuple(conf_parameter.key for conf_parameter, _ in required(config) if conf_parameter.restart)
    beside = [
        (Placed(f"{SLURM_FOLDER}/{conf_file.name}", conf_file.text, yields=True), conf_file)
        for conf_file in outside_files(config)
    ]
    checks = [
        *common.common(config, "/usr/sbin/slurmctld"),
        *common.slurm_key_checks(known),
        ("check_jwt_file", conf, JWT_KEY, known.jwt_key or "", "slurm"),
        *((("check_controllers", conf, *hosts),) if len(hosts) > 1 else ()),
        *common.parameters(conf, required(config), known),
        *((conf_file.check, file.path, *conf_file.entries) for file, conf_file in beside),
        *(("check_line", conf, line) for line in lines),
        ("check_cgroup", "/etc/slurm/cgroup.conf"),
        *((("check_gres", _GRES_CONF, gpus),) if gpus else ()),
        *((("check_power_saving", conf, *config.nodesets),) if config.nodesets else ()),
        *((("check_scripts", conf, _scripts_of(config)),) if config.nodesets else ()),
        ("check_running", "slurmctld"),
        ("check_ping",),
    ]
    return Sheet(
        role=Role.SLURMCTLD,
        service="slurmctld",
        hosts=tuple(Host(host, host) for host in hosts),
        files=(*common.public_files(known), *(file for file, _ in beside)),
        keys=common.keys(config, known, jwt=True, at=hosts),
        checks=tuple(checks),
        edits=conf,
        restarts=restarts,
        wanted=outside_slurm_conf(config),
        notes=(
            "Before an edit: `try.sh` of this folder lets a slurmctld of the installed release, cut off from the living"
            " one, read slurm.conf with the lines that it lacks, and shows its own words (folder form only).",
            "Lines are added to slurm.conf, never changed: a line with another value is reported, and you decide.",
            "A host that slurm.conf names already (also within `metal-[1-9]`) needs no second NodeName= line; slurmctld"
            " refuses its whole configuration over a node that is there twice.",
            f"A backup slurmctld needs the same slurm.conf and the same keys{_SHARED if len(hosts) > 1 else ''}.",
            f"After an edit: `scontrol reconfigure`. A changed key, or a changed {', '.join(restarts)}, needs a"
            " restart of slurmctld: `systemctl restart slurmctld`. Jobs run on.",
            "Nodes in pods get this host's cgroup.conf too. They need `IgnoreSystemd=yes` in it (or CgroupPlugin=disabled);"
            " metal under systemd may need another setting: decide for both.",
            "Prolog, Epilog, TaskProlog and TaskEpilog run in pods too. slurmctld sends them those that slurm.conf"
            " names without a folder and that are beside it (`slinky docs outside-hosts 'Prolog and epilog'`).",
            "Where this slurmctld saves power (SuspendProgram, SuspendTime), pods are nodes as any other: idle ones are"
            f" powered down, and then DOWN. `{LINE}` in slurm.conf leaves them out.",
            *((_GRES.format(line=gpus, vendor=_VENDOR if "…" in gpus else ""),) if gpus else ()),
        ),
    )


def _scripts_of(config: StackConfig) -> str:
    """Whether a script that slurmctld doesn't send can be in no pod: Slinky's images have none."""
    sets = config.nodesets.values()
    own = config.cluster.images.slurmd or any(
        nodeset.image or nodeset.volumes or nodeset.raw.model_fields_set for nodeset in sets
    )
    return "loose" if own else "firm"


def _slurmdbd(config: StackConfig, known: Known) -> Sheet:
    (external,) = config.slurmdbd.hosts
    conf = "/etc/slurm/slurmdbd.conf"
    own = {"DbdPort": str(external.port), "SlurmUser": "slurm"}
    shared = [(conf_parameter, value) for conf_parameter, value in required(config) if conf_parameter.slurmdbd]
    checks = [
        *common.common(config, "/usr/sbin/slurmdbd"),
        *common.slurm_key_checks(known),
        ("check_jwt_file", conf, JWT_KEY, known.jwt_key or "", "slurm"),
        *(("check_parameter", conf, key, value) for key, value in own.items()),
        *common.parameters(conf, shared, known),
        ("check_running", "slurmdbd"),
        ("check_tcp", "127.0.0.1", str(external.port), "slurmdbd"),
    ]
    text = "".join(f"{key}={value}\n" for key, value in own.items())
    text += "".join(f"{line}\n" for conf_parameter, value in shared for line in commented(conf_parameter, value))
    return Sheet(
        role=Role.SLURMDBD,
        service="slurmdbd",
        hosts=(Host(external.host, external.host),),
        files=common.public_files(known),
        keys=common.keys(config, known, jwt=True, at=(external.host,)),
        checks=tuple(checks),
        edits=conf,
        restarts=(*own, *(conf_parameter.key for conf_parameter, _ in shared)),
        wanted=f"# slurmdbd.conf of {config.cluster.name}: what daemons in Kubernetes need\n{text}",
        notes=(
            "slurmdbd.conf holds the database's password: mode 600, slurm's. It knows no CredType.",
            "slurmdbd reads keys at its start only: restart it after an edit or a new key.",
        ),
    )


def _slurmrestd(config: StackConfig, known: Known) -> Sheet:
    address = config.external.users_url
    url = urlsplit(address)
    port = users_port(config)
    host = url.hostname or ""
    plain = url.scheme == "http"
    bind = f"0.0.0.0:{port}" if plain else f"127.0.0.1:{names.SLURMRESTD_PORT}"
    unit = common.drop_in(
        "slurmrestd",
        f"/usr/sbin/slurmrestd {bind} $SLURMRESTD_OPTIONS",
        kind="simple",
        more=("User=nobody", "Environment=SLURM_JWT=daemon"),
        key=None,
    )
    listening = bind.rsplit(":", 1)[1]
    checks = [
        *common.common(config, "/usr/sbin/slurmrestd"),
        ("check_file", unit.path),
        ("check_file", "/etc/slurm/slurm.conf"),
        *common.answers(config),
        ("check_unit", "slurmrestd", f"/usr/sbin/slurmrestd {bind}"),
        ("check_running", "slurmrestd"),
        ("check_tcp", "127.0.0.1", listening, "slurmrestd"),
    ]
    notes = [
        "slurmrestd forwards its callers' tokens and holds no key. Its user is `nobody`; it refuses root and SlurmUser.",
        "slurmrestd may not be newer than slurmctld, and serves REST v0.0.44 since Slurm 25.11.",
        "slurm.conf of this host is only read by slurmrestd. Where slurmctld's own slurm.conf is at hand, use that.",
    ]
    if not plain:
        notes.append(f"TLS for {address} is a proxy's before it: slurmrestd listens at {bind}, on this host only.")
    return Sheet(
        role=Role.SLURMRESTD,
        service="slurmrestd",
        hosts=(Host(host, host),),
        files=(unit, Placed("/etc/slurm/slurm.conf", _rest_conf(config))),
        checks=tuple(checks),
        notes=tuple(notes),
        host_lines=common.host_lines(config, known.slurmctld_address),
    )


def _rest_conf(config: StackConfig) -> str:
    """slurm.conf of a slurmrestd host: where the daemons are, and that tokens are how users come in."""
    parameters = [
        ("ClusterName", config.cluster.name),
        ("SlurmUser", "slurm"),
        *(("SlurmctldHost", join.host) for join in config.slurmctld.joins),
        ("SlurmctldPort", config.slurmctld.join.port),
        *((key, parameter(key).value(config)) for key in ("AuthType", "CredType", "AuthAltTypes")),
    ]
    for join in config.slurmdbd.join:
        parameters += [
            ("AccountingStorageType", "accounting_storage/slurmdbd"),
            ("AccountingStorageHost", join.host),
            ("AccountingStoragePort", join.port),
        ]
    return "".join(f"{key}={value}\n" for key, value in parameters)


def _slurmd(config: StackConfig, known: Known) -> Sheet:
    return _configless(
        config,
        known,
        Role.SLURMD,
        config.external.slurmd_hosts,
        last=(("check_registered",),),
        notes=(
            "slurmctld must know the host first: name it in `external.slurmdHosts`, give its NodeName= line to slurmctld.",
            "slurm.conf is fetched from slurmctld at each start; sbatch and squeue on this host use that copy. No sackd"
            " here: slurmd and sackd want the same /run/slurm, each as its own.",
        ),
    )


def _login(config: StackConfig, known: Known) -> Sheet:
    return _configless(
        config,
        known,
        Role.LOGIN,
        config.external.login_hosts,
        telling_release=("/usr/bin/sinfo",),
        in_unit=("User=slurm", "Group=slurm", "RuntimeDirectory=slurm", "RuntimeDirectoryMode=0755"),
        first=(
            ("check_absent", "/etc/slurm/slurm.conf", "commands would read it instead of what sackd fetches; move it away"),
        ),
        notes=(
            "sackd signs for users of this host and fetches slurm.conf into /run/slurm/conf, where commands find it.",
            "Users come from this host's passwd, LDAP or sssd; with AuthInfo=use_client_ids slurmctld needn't know them.",
            *common.accounting_note(config),
        ),
    )


def _configless(
    config: StackConfig,
    known: Known,
    role: Role,
    hosts: Sequence[SlurmdHost | LoginHost],
    *,
    notes: tuple[str, ...],
    telling_release: Sequence[str] = (),
    in_unit: Sequence[str] = (),
    first: Sequence[Check] = (),
    last: Sequence[Check] = (),
) -> Sheet:
    """The sheet of hosts whose one daemon has slurm.key and fetches slurm.conf from slurmctld.

    ``telling_release``: a command beside the daemon that tells Slurm's release; ``in_unit``: more lines of its [Service];
    ``first`` and ``last``: the role's own checks, before the way to slurmctld is tried and after the daemon runs.
    """
    daemon = "sackd" if role is Role.LOGIN else "slurmd"
    server = f"--conf-server {listed(config.slurmctld.joins)}"
    command = f"/usr/sbin/{daemon} --systemd {server}"
    more = (*in_unit, *common.looks_for_keys(config))
    unit = common.drop_in(daemon, f"{command} ${daemon.upper()}_OPTIONS", more=more, key=SLURM_KEY)
    checks = [
        *common.common(config, f"/usr/sbin/{daemon}", *telling_release),
        *common.slurm_key_checks(known, runs_as_root=role is Role.SLURMD),
        ("check_file", unit.path),
        *first,
        *common.resolved(config),
        *common.answers(config),
        ("check_unit", daemon, command),
        ("check_running", daemon, server),
        *last,
        ("check_ping",),
    ]
    return Sheet(
        role=role,
        service=daemon,
        hosts=tuple(Host(host.name, host.address or host.name) for host in hosts),
        files=(unit,),
        keys=common.keys(config, known, jwt=False),
        checks=tuple(checks),
        notes=notes,
        host_lines=common.host_lines(config, known.slurmctld_address),
    )
