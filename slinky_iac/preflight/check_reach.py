"""Who reaches whom: from here, from a pod, and slurmctld's own view of its nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import ON_SLURMCTLD, SLURM_CONF, Check, fine, problem, unknown, warning
from slinky_iac.preflight.check_networks import guarded, refusal
from slinky_iac.preflight.facts import Facts, NodeFacts, Place, PodReport, Tried
from slinky_iac.specs.slurm_conf import host_line

ONLY_USERS = "external.slurmrestd.url"
"""The setting of a slurmrestd that no pod needs."""
NEEDED_HERE = "slurmrest.url"
"""The setting of the slurmrestd that this program itself asks."""
LOST = frozenset({"NOT_RESPONDING", "INVALID_REG"})


def api_server(_: StackConfig, facts: Facts) -> Iterator[Check]:
    """The Kubernetes API server answers."""
    kube = facts.kube
    if kube.trouble:
        yield problem(
            "api-server",
            "Kubernetes API server",
            "here",
            kube.trouble,
            "Check kubeconfig, VPN and firewall, or set kubernetes.kubeconfig and kubernetes.context",
        )
    elif kube.server:
        yield fine("api-server", "Kubernetes API server", "here", f"{kube.release} answers at {kube.server}")


def from_here(_: StackConfig, facts: Facts) -> Iterator[Check]:
    """Every outside daemon takes a TCP connection from here, or from the pods alone."""
    for seen in facts.here:
        yield _from_here(seen, facts)


def from_pods(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """Every daemon takes a TCP connection from a pod, but those that a NetworkPolicy of the stack guards."""
    for report in facts.pod.reports:
        for seen in report.tried:
            if guarded(config, seen):
                yield refusal(config, facts, seen, _shown(seen.place), f"pod on {report.node}")
            else:
                yield _from_pod(seen, report)
    if facts.pod.reports:
        return
    again = "Run it again without --no-pod" if facts.pod.skipped else "Run it again once that is mended"
    for seen in facts.here:
        yield unknown(
            "connect",
            _shown(seen.place),
            "a pod",
            "not asked: " + (facts.pod.trouble or "no pod was made"),
            f"{again}, or try from a pod",
            f"timeout 5 bash -c '</dev/tcp/{seen.place.host}/{seen.place.port}' && echo open",
            at="in any pod of the cluster",
        )


def _shown(place: Place) -> str:
    return f"{place.daemon} at {place.host} port {place.port}"


def _from_here(seen: Tried, facts: Facts) -> Check:
    subject = _shown(seen.place)
    if seen.open:
        return fine("connect", subject, "here", f"takes connections{_at(seen)}")
    same = [each for report in facts.pod.reports for each in report.tried if each.place == seen.place]
    if seen.place.path == NEEDED_HERE:
        return problem("connect", subject, "here", seen.trouble, f"Drains go there: check {NEEDED_HERE} and the firewall")
    if same and all(each.open for each in same):
        return fine("connect", subject, "here", f"{seen.trouble}; pods reach it, and only they have to")
    return warning(
        "connect",
        subject,
        "here",
        seen.trouble,
        "Check the address, the daemon, the firewall and the route; where only pods can reach it, nothing is wrong",
    )


def _from_pod(seen: Tried, report: PodReport) -> Check:
    place, subject, source = seen.place, _shown(seen.place), f"pod on {report.node}"
    if seen.open:
        return fine("connect", subject, source, f"takes connections{_at(seen)}")
    if place.path == ONLY_USERS:
        return warning("connect", subject, source, seen.trouble, "No pod needs it, but jobs in pods that use it would fail")
    if place.is_service:
        daemon = place.daemon.partition("'")[0]
        return problem(
            "connect",
            subject,
            source,
            f"{seen.trouble}{_at(seen)}",
            f"The Service should lead to {daemon}: see what is behind it; where it isn't there, run `pulumi up`",
            "kubectl -n NAMESPACE get services,endpointslices",
        )
    if "not known" in seen.trouble:
        return problem(
            "connect",
            subject,
            source,
            seen.trouble,
            f"Give cluster DNS the name, or set {place.path}.host to the address",
            f"getent hosts {place.host}",
            at="on a host that knows the name",
        )
    return problem(
        "connect",
        subject,
        source,
        f"{seen.trouble}{_at(seen)}",
        f"Check that {place.daemon} listens on port {place.port} ({place.path}.port), the firewall and the route from pods",
        f"ss -ltnp 'sport = :{place.port}'",
        at=f"on the host of {place.daemon}",
    )


def _at(seen: Tried) -> str:
    return f" ({seen.address})" if seen.address and seen.address != seen.place.host else ""


def pods(_: StackConfig, facts: Facts) -> Iterator[Check]:
    """A pod could be made to look from inside."""
    if facts.pod.trouble and not facts.pod.skipped:
        yield warning(
            "pod",
            "short-lived pod",
            "Kubernetes",
            facts.pod.trouble,
            "Pods of the cluster may fail for the same reason. Repair what is named, or look from here only with --no-pod",
        )


def nodes_of_pods(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """slurmctld reaches the pods: it pings every slurmd on port 6818, so its states tell."""
    if not config.nodesets:
        return
    expected = sorted({node for each in facts.kube.nodesets.values() for node in each.nodes})
    if not expected or facts.slurm.nodes is None:
        why = "no NodeSet pod is ready yet" if not expected else facts.slurm.failed.get("nodes", "slurmctld was not asked")
        yield unknown(
            "pods-reached",
            "pods, from slurmctld's host",
            "slurmctld",
            f"not known: {why}",
            "Run preflight again after `pulumi up`, or try a pod's address (`kubectl get pods -A -o wide`)",
            "timeout 5 bash -c '</dev/tcp/POD_ADDRESS/6818' && echo open",
            at=ON_SLURMCTLD,
        )
        return
    known = {node.name: node for node in facts.slurm.nodes}
    missing = [name for name in expected if name not in known]
    lost = [name for name in expected if name in known and known[name].states & LOST]
    if missing:
        yield problem(
            "pods-registered",
            f"nodes {', '.join(missing)}",
            "slurmctld",
            "has no such node, though their pods are ready",
            "Look at slurmd's log: key, MaxNodeCount, network to slurmctld",
            "kubectl logs -n NAMESPACE POD -c slurmd",
        )
    if lost:
        yield problem(
            "pods-reached",
            f"nodes {', '.join(lost)}",
            "slurmctld",
            "; ".join(f"{name} is {_states(known[name])}" for name in lost),
            "slurmctld calls pods at their own addresses: route the pod network to its host, without NAT; open 6818/tcp",
            "timeout 5 bash -c '</dev/tcp/POD_ADDRESS/6818' && echo open",
            at=ON_SLURMCTLD,
        )
    if not missing and not lost:
        yield fine(
            "pods-reached",
            f"pods of nodes {', '.join(expected[:6])}{' …' if len(expected) > 6 else ''}",
            "slurmctld",
            "all are registered and answer its pings",
        )


def metal_hosts(config: StackConfig, facts: Facts) -> Iterator[Check]:
    """The bare-metal hosts of the configuration are nodes of slurmctld's, and answer it."""
    hosts = config.external.slurmd_hosts
    if not hosts:
        return
    lines = {host.name: host_line(host.name, host.address, host.config) for host in hosts}
    if facts.slurm.nodes is None:
        yield unknown(
            "metal-hosts",
            f"bare-metal hosts {', '.join(lines)}",
            "slurmctld",
            f"not known: {facts.slurm.failed.get('nodes', 'slurmctld was not asked')}",
            "slurm.conf must have their lines",
            *lines.values(),
            at=SLURM_CONF,
        )
        return
    known = {node.name: node for node in facts.slurm.nodes}
    missing = [line for name, line in lines.items() if name not in known]
    if missing:
        names = ", ".join(name for name in lines if name not in known)
        yield problem(
            "metal-hosts", f"bare-metal hosts {names}", "slurmctld", "has no such node", "Add", *missing, at=SLURM_CONF
        )
    there = [known[name] for name in lines if name in known]
    lost = [node for node in there if node.states & {*LOST, "UNKNOWN", "FUTURE"} or not node.version]
    for node in lost:
        yield problem(
            "metal-hosts",
            f"bare-metal host {node.name}",
            "slurmctld",
            f"is {_states(node)}" if node.version else f"is {_states(node)}, and no slurmd of it ever registered",
            "Start slurmd there and look at its log: key, address, network",
            "systemctl status slurmd",
            at=f"on {node.name}",
        )
    if not missing and not lost:
        yield fine("metal-hosts", f"bare-metal hosts {', '.join(lines)}", "slurmctld", "all are nodes and answer its pings")


def _states(node: NodeFacts) -> str:
    return "+".join(sorted(node.states))


def beyond_our_reach(config: StackConfig, _: Facts) -> Iterator[Check]:
    """Ways that nobody can be asked about, with the command that tells."""
    hosts, nodesets = config.external.slurmd_hosts, config.nodesets
    if hosts and nodesets:
        nodes = f"{hosts[0].name},{next(iter(nodesets))}-0"
        yield unknown(
            "pods-and-metal",
            "bare-metal hosts and pods, to each other",
            "nobody",
            "no daemon tells whether slurmd reaches slurmd, which steps over both halves need",
            "Run a step over one of each, as a user",
            f"srun -N2 -w {nodes} -t1 hostname",
            at="on a login host",
        )
    if config.external.login_hosts:
        names = ", ".join(host.name for host in config.external.login_hosts)
        yield unknown(
            "login-hosts",
            f"login hosts {names}",
            "nobody",
            "they register nowhere, so nobody knows whether their key and their way to slurmctld are right",
            "Ask slurmctld from there, as a user",
            "scontrol ping && sinfo",
            at=f"on {names}",
        )


CHECKS = (api_server, pods, from_here, from_pods, nodes_of_pods, metal_hosts, beyond_our_reach)
