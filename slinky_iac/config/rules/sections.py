"""Rules across sections: what the operator, Slurm and Kubernetes would refuse, or do in silence, told before they do.

Each rule is a generator of findings over one frozen configuration; ``findings`` runs them all. What the operator's
webhook refuses (``internal/webhook``) is an error here, so that preview says it and a missing webhook changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final

from slinky_iac import names
from slinky_iac.config.fields import is_address
from slinky_iac.config.findings import NOT_OF_RULES, Finding, Level, acknowledged, at, without_covered
from slinky_iac.config.rules import adopted as rules_adopted
from slinky_iac.config.rules import clients as rules_clients
from slinky_iac.config.rules import daemonset as rules_daemonset
from slinky_iac.config.rules import deadlines as rules_deadlines
from slinky_iac.config.rules import gres_nodes as rules_gres_nodes
from slinky_iac.config.rules import hosts as rules_hosts
from slinky_iac.config.rules import identity as rules_identity
from slinky_iac.config.rules import keys as rules_keys
from slinky_iac.config.rules import kubernetes as rules_kubernetes
from slinky_iac.config.rules import namespace as rules_namespace
from slinky_iac.config.rules import networks as rules_networks
from slinky_iac.config.rules import partitions as rules_partitions
from slinky_iac.config.rules import pods as rules_pods
from slinky_iac.config.rules import raw as rules_raw
from slinky_iac.config.rules import releases as rules_releases
from slinky_iac.config.rules import secrets as rules_secrets
from slinky_iac.config.rules import slurm_conf as rules_slurm_conf
from slinky_iac.config.rules import slurm_files as rules_slurm_files
from slinky_iac.config.rules import slurm_folders as rules_slurm_folders
from slinky_iac.config.rules import slurm_ignored as rules_slurm_ignored
from slinky_iac.config.rules import slurm_programs as rules_slurm_programs
from slinky_iac.config.rules import slurm_reach as rules_slurm_reach
from slinky_iac.config.rules import sshd as rules_sshd
from slinky_iac.config.rules import tls as rules_tls
from slinky_iac.config.rules import topology as rules_topology
from slinky_iac.config.rules import tres as rules_tres
from slinky_iac.config.rules import yaml_files as rules_yaml_files
from slinky_iac.config.sections import ExternalHost
from slinky_iac.config.shown import name_of
from slinky_iac.config.stack import KINDS, StackConfig
from slinky_iac.errors import ConfigError
from slinky_iac.parts.part import Rule
from slinky_iac.parts.registry import PARTS
from slinky_iac.parts.slurmctld import metrics

REQUEUE_SINCE = (26, 5)
"""First release whose slurmrestd has ``jobs/requeue`` (REST v0.0.45)."""
PODS_AT_ONCE = 250
"""Pods that slurm-operator creates in one sync (``burstReplicas`` of ``nodeset_sync.go``). A NodeSet has no field for it."""


def _accounting(config: StackConfig, secrets: frozenset[str]) -> Iterator[Finding]:
    accounting = config.accounting
    if not accounting.enabled:
        return
    if config.slurmdbd.pods and not config.slurmdbd.databases:
        yield at("accounting").error(
            "needs external (an outside slurmdbd) or database (for one in Kubernetes); or set accounting.enabled: false"
        )
    if config.slurmdbd.hosts and accounting.database is not None:
        yield at("accounting").error("has external and database; an outside slurmdbd has its own database: remove one")
    given = accounting.database is not None and accounting.database.password_from is not None
    if given and "databasePassword" in secrets:
        yield at("accounting.database.passwordFrom").error(
            "is set together with the secret databasePassword, and slurmdbd has one password: remove passwordFrom, or run"
            " `pulumi config rm slinky-iac:databasePassword`"
        )
    if accounting.database is not None and "-" in accounting.database.name:
        yield at("accounting.database.name").info(
            f"is {name_of(accounting.database.name)}: slurmdbd makes no database whose name has a '-'. Make it before"
            " `pulumi up`, or give it a name with '_'",
            id="database-by-hand",
        )
    if accounting.database is not None and not given and "databasePassword" not in secrets:
        yield at("accounting.database").error(
            "needs a password; run `pulumi config set --secret slinky-iac:databasePassword`"
        )


_USUAL: Final = {
    names.SLURMCTLD_PORT: "slurmctld",
    names.SLURMD_PORT: "slurmd",
    names.SLURMDBD_PORT: "slurmdbd",
    names.SLURMRESTD_PORT: "slurmrestd",
}
"""Whose port it is where no file says another."""


def _external_daemons(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Where pods find slurmctld and slurmdbd outside: a name that they can resolve, an address that isn't their own, and a
    port that the operator, which always writes the usual one, can lead to."""
    hosts = config.slurmctld.hosts
    daemons: list[tuple[str, str, ExternalHost, int]] = [
        ("controller.external", f"backups.{number - 1}" if number else "host", outside_host, names.SLURMCTLD_PORT)
        for number, outside_host in enumerate(hosts)
    ]
    daemons += [("accounting.external", "host", outside_host, names.SLURMDBD_PORT) for outside_host in config.slurmdbd.hosts]
    for path, field, external, usual in daemons:
        host = name_of(external.host)
        led = path != "controller.external" or len(hosts) == 1  # else slurmrestd has a slurm.conf of the stack's
        if led and not is_address(external.host) and external.port != usual:
            own, other = _USUAL[usual], _USUAL.get(external.port)
            why = f"the operator always writes port {usual}, and only an address can be led from there to another port"
            yield at(path).error(
                f"port {external.port} is {other}'s usual one, and {own}'s is {usual}: leave port out. If {own} does listen"
                f" on {external.port}, give its IP address: {why} (EndpointSlice)"
                if other
                else f"port {external.port} with a host name: {why} (EndpointSlice). Give the IP address, or let the daemon"
                f" listen on {usual}"
            )
        if _is_local(external.host):
            yield at(f"{path}.{field}").error(
                f"{host} is a pod's own host or none at all; give the address under which pods reach the daemon"
            )
        elif not {".", ":"} & set(external.host):
            yield at(f"{path}.{field}").warning(
                f"got the short name {host}: pods resolve it only if it is a Service of namespace"
                f" {name_of(config.cluster.namespace)}. Give the full name: {host}.example.org",
                id="short-host-name",
            )
    if config.slurmctld.owns_conf:
        local = {h.path: h.address for h in config.external.slurmd_hosts if h.address is not None and _is_local(h.address)}
        for path, address in local.items():
            yield at(f"{path}.address").error(
                f"{name_of(address)} is a pod's own host or none at all: slurmctld would call itself; give the address under"
                " which its pod reaches the host"
            )
    taken = {(outside_host.host, outside_host.port) for outside_host in hosts}
    if any((outside_host.host, outside_host.port) in taken for outside_host in config.slurmdbd.hosts):
        yield at("accounting.external.port").error(
            "is slurmctld's on the same host (controller.external), and one daemon alone can listen there: correct one of"
            " the two; slurmctld's is 6817, slurmdbd's 6819, where slurm.conf says no other"
        )


def _is_local(host: str) -> bool:
    if not is_address(host):
        return host in {"localhost", "localhost.localdomain"}
    address = ip_address(host)
    return address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified


def _controller(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    controller = config.controller
    if not config.slurmctld.owns_conf:
        yield from _ignored_external(config)
        return
    yield from rules_slurm_conf.owned(config)
    yield from rules_slurm_conf.files(config)
    if config.slurmctld.forgets_queue:
        yield at("controller.persistence").warning(
            "is off: when slurmctld's pod restarts, the queue and all running jobs are forgotten. Remove enabled: false;"
            " acknowledge this for a trial cluster only",
            id="queue-not-kept",
        )
    if (config.external.slurmd_hosts or config.external.login_hosts) and controller.service.type == "ClusterIP":
        yield at("controller.service.type").info(
            "ClusterIP: outside slurmd and sackd hosts reach slurmctld only where the pod network is routed to them",
            id="cluster-ip-outside-hosts",
        )
    if config.slurmdbd.hosts:
        yield at("controller").info(
            f"slurmctld runs in Kubernetes: a new one, with an empty queue, of the cluster {name_of(config.cluster.name)} in"
            " the outside slurmdbd. If a slurmctld of that name runs outside, both write jobs of the same numbers into the"
            " records of one cluster. Then set controller.external, with its host, or give this one another cluster.name",
            id="new-slurmctld",
        )
        if controller.service.type == "ClusterIP":
            yield at("controller.service.type").info(
                "ClusterIP: the outside slurmdbd sends changes of accounts to slurmctld, and reaches it only where the pod"
                " network is routed to slurmdbd's host. Otherwise slurmctld learns of them only when it asks again",
                id="cluster-ip-outside-slurmdbd",
            )


def _ignored_external(config: StackConfig) -> Iterator[Finding]:
    fields = ("extra_conf", "config_files", "metrics", "persistence", "service", "resources", "pod", "raw")
    why = "slurmctld is outside, and the operator writes nothing there. Its admin must set it"
    yield from rules_kubernetes.ignored_fields("controller", config.controller, fields, why)
    scripts = f"{why} (`slinky docs outside-hosts 'Prolog and epilog'`)"
    yield from rules_kubernetes.ignored_fields("controller", config.controller, ("prolog", "epilog"), scripts)
    needed = [name for name, nodeset in config.nodesets.items() if nodeset.partition.enabled]
    if needed or config.partitions:
        yield at("controller.external").info(
            "the outside slurm.conf must hold NodeSet= and PartitionName= lines (partitions:"
            f" {', '.join(map(name_of, [*needed, *config.partitions]))}); the operator sets none there. They are the stack's"
            " output outsideSlurmConf, and with settings in a file `slinky handoff --role slurmctld` renders them",
            id="outside-slurm-conf",
        )


def _host_network(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    for path, pod in (("controller.pod", config.controller.pod), ("accounting.pod", config.accounting.pod)):
        if pod.host_network:
            yield at(f"{path}.hostNetwork").error(
                "isn't supported: Slurm would read host names before Kubernetes has settled them (hybrid guide). Remove it"
            )
    users = [(f"nodesets.{n}", s.pod) for n, s in config.nodesets.items()]
    users += [(f"logins.{n}", s.pod) for n, s in config.logins.items()] + [("restapi", config.restapi.pod)]
    for path, pod in users:
        if pod.host_network:
            yield at(f"{path}.pod.hostNetwork").warning(
                "the pod shares its node's network: all its ports are open there in plain text, one such pod fits on a node,"
                " and Kubernetes node names must be short (hostname -s), else slurmd registers under another name",
                id="host-network",
            )
    if config.restapi.pod.host_network:
        yield at("restapi.pod.hostNetwork").warning(
            "slurmrestd speaks plain HTTP: anyone who reaches the node's port 6820 sees tokens. Let the node's firewall"
            " guard the port, then acknowledge this; or set restapi.tls",
            id="restapi-host-network",
        )


def _limits(config: StackConfig, nodeset: str) -> Iterator[Finding]:
    """Limits of the stack's that a NodeSet's own drain settings leave behind: they look as if they held."""
    if config.drain is None or config.drain_of(nodeset) is config.drain:
        return
    own = config.drain_of(nodeset).limits.model_dump(exclude_none=True, by_alias=True)
    left = config.drain.limits.model_dump(exclude_none=True, by_alias=True).keys() - own.keys()
    if left:
        yield at(f"nodesets.{nodeset}.drain.limits").warning(
            f"has no {', '.join(sorted(left))}: a NodeSet's `drain` replaces the stack's entirely, so"
            " drain.limits doesn't apply here. Repeat the limits that you want",
            id="drain-limits-replaced",
        )


def _started(config: StackConfig, nodeset: str) -> Iterator[Finding]:
    replicas, drain = config.nodesets[nodeset].replicas, config.drain_of(nodeset)
    if replicas > PODS_AT_ONCE and not drain.model_fields_set & {"register_deadline", "start_at_once"}:
        yield at(f"nodesets.{nodeset}.replicas").info(
            f"{replicas} pods: slurm-operator creates up to {PODS_AT_ONCE} at a time. All new"
            f" pods of one update pull their images and register with slurmctld within {drain.register_deadline} s; if they"
            " take longer, the update fails, its pods stay, and the next `pulumi up` waits for them again."
            " Set drain.startAtOnce (100, say), or drain.registerDeadline to the time that all of them need",
            id="many-pods-at-once",
        )


def _nodesets(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    for name, nodeset in config.nodesets.items():
        path = f"nodesets.{name}"
        if config.drain_of(name).on_deadline == "requeue" and config.slurm_numbers < REQUEUE_SINCE:
            yield at(f"{path}.drain.onDeadline").warning(
                f"is requeue, and slurmrestd {config.slurm_release} can't requeue jobs (26.05 and newer can): at the"
                " deadline the update would stop with nodes drained and jobs running. Use keep or cancel",
                id="requeue-unsupported",
            )
        yield from _limits(config, name)
        if not nodeset.scaled_by_others:
            yield from _started(config, name)
        if nodeset.ssh.enabled and not config.operator_version.has_ssh:
            yield at(f"{path}.ssh").error(
                f"needs slurm-operator 1.1 or newer; operator.version is {config.operator.version}"
            )
        if nodeset.ssh.enabled and nodeset.ssh.sssd_conf_from is None and config.identity.sssd is None:
            yield at(f"{path}.ssh.sssdConfFrom").error(
                "is needed with ssh.enabled: set identity.sssd, or give {secret: NAME}, the Secret with sssd.conf"
            )
        if nodeset.scaled_by_others and nodeset.max_replicas is None:
            yield at(f"{path}.maxReplicas").error(
                "is needed with owner: autoscaler, as without it nothing bounds the number of nodes: give the most"
            )
        if not (nodeset.scaled_by_others or nodeset.on_each_node) and nodeset.max_replicas is not None:
            yield at(f"{path}.maxReplicas").error(
                "goes with owner: autoscaler; with owner: stack replicas is the number itself. Remove it, or set the owner"
            )


def _operator(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    operator = config.operator
    if operator.webhook.enabled and operator.parsed.binding_webhook_is_cluster_wide:
        yield at("operator.webhook.enabled").error(
            "with 1.1.0 its webhook is called for every pod and can stop all scheduling (slurm-operator issue 189). Set"
            " operator.version to 1.1.1, or this to false: `slinky check` and previews refuse what the webhook refuses"
        )
    if seen := operator.parsed.seen:
        said = "isn't a release" if "-" in operator.version else "wasn't tried"
        yield at("operator.version").warning(
            f"{operator.version} {said}; of the line {operator.parsed.line}"
            f" {seen}. Try a scale-in and a rollout with this release before jobs that matter run, or set one that is known,"
            " for example 1.2.1",
            id="operator-unwatched",
        )
    if operator.install and operator.namespace == config.cluster.namespace:
        yield at("operator.namespace").error("is the cluster's namespace too; destroying one would remove the other")


def _mixed(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    if config.external.slurmd_hosts and config.nodesets:
        yield at("external.slurmdHosts").warning(
            "bare-metal slurmd beside slurmd in pods: Slurm assumes one cgroup.conf for all nodes, and pods need"
            " IgnoreSystemd=yes, which may not suit the hosts (hybrid guide, Slurm Configuration)",
            id="mixed-cgroups",
        )


RULES: tuple[Rule, ...] = (
    *rules_keys.OF_DAEMONS,
    *rules_keys.RULES,
    _accounting,
    _controller,
    _host_network,
    _nodesets,
    *rules_partitions.RULES,
    *rules_slurm_conf.RULES,
    *rules_slurm_files.RULES,
    *rules_slurm_folders.RULES,
    *rules_slurm_ignored.RULES,
    *rules_slurm_reach.RULES,
    *rules_slurm_programs.RULES,
    *rules_sshd.RULES,
    *rules_topology.RULES,
    *rules_yaml_files.RULES,
    *rules_gres_nodes.RULES,
    *rules_tres.RULES,
    *rules_pods.RULES,
    *rules_daemonset.RULES,
    *rules_deadlines.RULES,
    *rules_raw.RULES,
    *rules_hosts.RULES,
    *rules_releases.RULES,
    _operator,
    _mixed,
    _external_daemons,
    *rules_adopted.RULES,
    *rules_kubernetes.RULES,
    *rules_tls.RULES,
    *rules_namespace.RULES,
    *(rule for part in PARTS for rule in (*part.rules, *part.daemon_rules, *part.client_rules)),
    *metrics.RULES,
    *rules_networks.RULES,
    *rules_networks.OF_DAEMONS,
    *rules_secrets.RULES,
    *rules_clients.RULES,
    *rules_clients.OF_DAEMONS,
    *rules_identity.RULES,
    *rules_identity.OF_DAEMONS,
)


OF_DAEMONS: frozenset[Rule] = frozenset(
    {
        *rules_releases.RULES,
        *rules_keys.OF_DAEMONS,
        *rules_networks.OF_DAEMONS,
        *rules_clients.OF_DAEMONS,
        *(rule for part in PARTS for rule in part.daemon_rules),
        *rules_identity.OF_DAEMONS,
    }
)
"""Those of stacks that make daemons. Others make clients only, of whichever release the cluster has."""
OF_CLIENTS: frozenset[Rule] = frozenset(rule for part in PARTS for rule in part.client_rules)
"""Those of the others."""


def findings(config: StackConfig, secrets: frozenset[str] = frozenset()) -> tuple[Finding, ...]:
    """All findings about ``config``; ``secrets`` are the names of the secret configuration values that are set."""
    passed_over = OF_CLIENTS if config.auth.makes_daemons else OF_DAEMONS
    rule_findings = without_covered(
        finding for rule in RULES if rule not in passed_over for finding in rule(config, secrets)
    )
    of_a_look = (api.missing.id for part in PARTS for api in part.apis(config))
    possible = {key for finding in rule_findings for key in (finding.id, f"{finding.id}@{finding.path}")}
    return acknowledged((*rule_findings, *_without_cause(config, {*possible, *of_a_look})), config.acknowledged)


def _without_cause(config: StackConfig, possible: set[str]) -> Iterator[Finding]:
    for name in config.acknowledged:
        kind = name.partition("@")[0]
        if kind in KINDS and name not in possible and kind not in NOT_OF_RULES:
            said = "acknowledges a finding that this stack doesn't have; remove the line"
            yield at(f"acknowledged.{name}").info(said, id="nothing-to-acknowledge")


def require_sound(all_findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings that aren't errors. Raises :class:`ConfigError` with all errors where there is one."""
    errors = tuple(str(f) for f in all_findings if f.level is Level.ERROR)
    if errors:
        raise ConfigError(errors)
    return all_findings
