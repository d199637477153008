"""Who reaches whom: from here, from a pod (slurmctld's metrics too), and slurmctld's own view of its nodes. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from slinky_iac.blueprint.flows import on_host_network, parts
from slinky_iac.blueprint.places import SLURMREST, USERS, Place
from slinky_iac.config.stack import StackConfig
from slinky_iac.hostlist import compress
from slinky_iac.node_demand import METRICS_TYPE
from slinky_iac.parts.registry import asks_slurmctld, reads_metrics
from slinky_iac.parts.slurmctld.metrics import metrics_can_end_slurmctld
from slinky_iac.preflight.check import BY_HAND, Answer, Answers, At, Expect, Run, fine, of, problem, unknown, warning
from slinky_iac.preflight.facts import Facts, Tried
from slinky_iac.specs.endpoints import metrics_url
from slinky_iac.specs.slurm_conf import host_line

DENIED: Final = 401
"""What slurmctld 26.05 answers to a question for its metrics while PrivateData is set (run)."""
MOST_PODS: Final = 3
"""Pods whose logs are named: what is wrong with one is mostly wrong with all."""
LOST = frozenset({"NOT_RESPONDING", "INVALID_REG"})


def _api_server(_: StackConfig, facts: Facts) -> Answers:
    """The Kubernetes API server answers."""
    kube = facts.kube
    if kube.trouble:
        yield problem(kube.trouble, kube.advice or "Correct it, then run this again")
    elif kube.server:
        yield fine(f"{kube.release} answers at {kube.server}")


def _from_here(_: StackConfig, facts: Facts) -> Answers:
    """Every outside daemon takes a TCP connection from here, or from the pods alone."""
    for seen in facts.here:
        yield from of([_tried_here(seen, facts)], about=_shown(seen.place))


def _from_pods(config: StackConfig, facts: Facts) -> Answers:
    """Every daemon takes a TCP connection from a pod, but those that a NetworkPolicy of the stack guards."""
    for report in facts.pod.reports:
        for seen in report.tried:
            if not _guarded(config, seen):
                yield from of([_tried_in_pod(config, seen)], about=_shown(seen.place), source=f"pod on {report.node}")
    again = "Run it again without --no-pod" if facts.pod.skipped else "Run it again when that is corrected"
    for seen in facts.here if not facts.pod.reports else ():
        yield unknown(
            "not asked: " + (facts.pod.trouble or "no pod was made"),
            f"{again}, or try from a pod",
            f"timeout 5 bash -c '</dev/tcp/{seen.place.host}/{seen.place.port}' && echo open",
            at="in any pod of the cluster",
            about=_shown(seen.place),
        )


def _guarded(config: StackConfig, seen: Tried) -> bool:
    """Whether a NetworkPolicy of the stack is for the pods behind this Service."""
    return config.network_policies.enabled and seen.place.is_service and seen.place.part in parts(config)


def _policies(config: StackConfig, facts: Facts) -> Answers:
    """The stack's NetworkPolicies are enforced: a short-lived pod has no label of the cluster, so daemons refuse it."""
    for report in facts.pod.reports:
        for seen in report.tried:
            if _guarded(config, seen):
                yield from of([_refusal(config, facts, seen)], about=_shown(seen.place), source=f"pod on {report.node}")


def _refusal(config: StackConfig, facts: Facts, seen: Tried) -> Answer:
    """What a connection says of the policies: it is to be refused."""
    if not seen.open:
        if facts.slurm.nodes is not None:
            return fine(f"refuses a pod outside the cluster: {seen.trouble}")
        said = f"{seen.trouble}, and slurmrestd doesn't answer: refused by a policy, or down"
        return unknown(said, "Run preflight again once slurmrestd answers")
    if on_host_network(config, "slurmd"):
        return fine("takes connections; on the host network this pod has its node's address")
    return warning(
        "accepts connections from a pod outside the cluster, although networkPolicies.enabled is true",
        "Run `pulumi up` where the policies aren't made yet. Else the network plugin enforces none, or another policy lets"
        " everybody in (`slinky docs networks`)",
        "kubectl get networkpolicies -A",
    )


def _shown(place: Place) -> str:
    return f"{place.daemon} at {place.host} port {place.port}"


def _tried_here(seen: Tried, facts: Facts) -> Answer:
    if seen.open:
        return fine(f"takes connections{_at(seen)}")
    same = [attempt for report in facts.pod.reports for attempt in report.tried if attempt.place == seen.place]
    if seen.place.path == SLURMREST:
        return problem(seen.trouble, f"Drains go there: check {SLURMREST} and the firewall")
    if same and all(attempt.open for attempt in same):
        return fine(f"{seen.trouble}; pods reach it, which is enough")
    route = "Check the address, the daemon, the firewall and the route. If only pods can reach it, this is fine"
    return warning(seen.trouble, route)


def _tried_in_pod(config: StackConfig, seen: Tried) -> Answer:
    place, said = seen.place, f"{seen.trouble}{_at(seen)}"
    if seen.open:
        return fine(f"takes connections{_at(seen)}")
    if place.path == USERS:
        return warning(seen.trouble, "No pod needs it, but jobs in pods that use it would fail")
    if place.is_service:
        advice = f"The Service should lead to {place.part}: see what is behind it; if it doesn't exist, run `pulumi up`"
        return problem(said, advice, f"kubectl -n {config.cluster.namespace} get services,endpointslices")
    if "not known" in seen.trouble:
        advice, show = f"Give cluster DNS the name, or set {place.path}.host to the address", f"getent hosts {place.host}"
        return problem(seen.trouble, advice, show, at="on a host that knows the name")
    listens = (
        f"Check that {place.daemon} listens on port {place.port} ({place.path}.port), the firewall and the route from pods"
    )
    return problem(said, listens, f"ss -ltnp 'sport = :{place.port}'", at=f"on the host of {place.daemon}")


def _at(seen: Tried) -> str:
    return f" ({seen.address})" if seen.address and seen.address != seen.place.host else ""


def _pods(_: StackConfig, facts: Facts) -> Answers:
    """A pod could be made to look from inside."""
    if facts.pod.trouble and not facts.pod.skipped:
        yield warning(
            facts.pod.trouble,
            "The cluster's pods may fail for the same reason. Correct it, or check from here only with --no-pod",
        )


def _pods_registered(config: StackConfig, facts: Facts) -> Answers:
    """slurmctld has a node for every NodeSet pod that is ready."""
    known = {node.name for node in facts.slurm.nodes or ()}
    missing = [name for name in _expected(facts) if name not in known]
    pods = sorted(pod.name for nodeset in facts.kube.workers.values() for pod in nodeset.ready if pod.slurm_node in missing)
    if missing and facts.slurm.nodes is not None:
        yield problem(
            "has no such node, although their pods are ready",
            "Look at slurmd's log: key, MaxNodeCount, network to slurmctld",
            *(f"kubectl logs -n {config.cluster.namespace} {pod} -c slurmd" for pod in pods[:MOST_PODS]),
            about=f"nodes {', '.join(missing)}",
        )


def _expected(facts: Facts) -> list[str]:
    return sorted({pod.slurm_node for nodeset in facts.kube.workers.values() for pod in nodeset.ready})


def _pods_reached(config: StackConfig, facts: Facts) -> Answers:
    """slurmctld reaches the pods: it pings every slurmd on port 6818, so its states tell."""
    if not config.nodesets:
        return
    expected, try_it = _expected(facts), "timeout 5 bash -c '</dev/tcp/POD_ADDRESS/6818' && echo open"
    known = {node.name: node for node in facts.slurm.nodes or ()}
    lost = [name for name in expected if name in known and known[name].state & LOST]
    if not expected or facts.slurm.nodes is None:
        why = facts.slurm.unknown("nodes") if expected else "not known: no NodeSet pod is ready yet"
        advice = "Run preflight again after `pulumi up`, or try a pod's address (`kubectl get pods -A -o wide`)"
        yield unknown(why, advice, try_it, at=At.SLURMCTLD)
    elif lost:
        yield problem(
            "; ".join(f"{name} is {known[name].state_text}" for name in lost),
            "slurmctld calls pods at their own addresses: route the pod network to its host, without NAT; open 6818/tcp",
            try_it,
            at=At.SLURMCTLD,
            about=f"nodes {', '.join(lost)}",
        )
    elif known.keys() >= set(expected):
        some = f"pods of nodes {', '.join(expected[:6])}{' …' if len(expected) > 6 else ''}"
        yield fine("all are registered and answer its pings", about=some)


def _short(names: Iterable[str]) -> str:
    """Names as text, as a hostlist where they are many."""
    every = list(names)
    return ", ".join(every) if len(every) <= 8 else compress(every)


def _metal_hosts(config: StackConfig, facts: Facts) -> Answers:
    """The bare-metal hosts of the configuration are nodes of slurmctld's, and answer it."""
    hosts = config.external.slurmd_hosts
    if not hosts:
        return
    lines = {host.name: host_line(host.name, host.address, host.config) for host in hosts}
    every = f"bare-metal hosts {_short(lines)}"
    if facts.slurm.nodes is None:
        must = "slurm.conf must have their lines"
        yield unknown(facts.slurm.unknown("nodes"), must, *lines.values(), at=At.SLURM_CONF, about=every)
        return
    known = {node.name: node for node in facts.slurm.nodes}
    missing = [line for name, line in lines.items() if name not in known]
    if missing:
        names = _short(name for name in lines if name not in known)
        yield problem("has no such node", "Add", *missing, at=At.SLURM_CONF, about=f"bare-metal hosts {names}")
    there = [known[name] for name in lines if name in known]
    lost = [node for node in there if node.state & {*LOST, "UNKNOWN", "FUTURE"} or not node.version]
    for node in lost:
        yield problem(
            f"is {node.state_text}" if node.version else f"is {node.state_text}, and its slurmd never registered",
            "Start slurmd there and look at its log: key, address, network",
            "systemctl status slurmd",
            at=f"on {node.name}",
            about=f"bare-metal host {node.name}",
        )
    if not missing and not lost:
        yield fine("all are nodes and answer its pings", about=every)


def _pods_and_metal(config: StackConfig, _: Facts) -> Answers:
    """slurmd to slurmd: no daemon can be asked, so the command that tells."""
    if config.external.slurmd_hosts and config.nodesets:
        nodes = f"{config.external.slurmd_hosts[0].name},{next(iter(config.nodesets))}-0"
        yield unknown(
            "no daemon reports whether slurmd reaches slurmd, which steps across both halves need",
            "Run a step on one of each, as a user",
            f"srun -N2 -w {nodes} -t1 hostname",
            at="on a login host",
        )


def _login_hosts(config: StackConfig, _: Facts) -> Answers:
    """Login hosts to slurmctld: no daemon can be asked, so the command that tells."""
    if config.external.login_hosts:
        names = ", ".join(host.name for host in config.external.login_hosts)
        yield unknown(
            "they don't register, so whether their key and their route to slurmctld are right is unknown",
            "Ask slurmctld from there, as a user",
            "scontrol ping && sinfo",
            at=f"on {names}",
            about=f"login hosts {names}",
        )


def _metrics(config: StackConfig, facts: Facts) -> Answers:
    """Every pod that looked got slurmctld's metrics of partitions: an autoscaler that gets none changes nothing."""
    if not asks_slurmctld(config):
        return
    ask = ("Ask from a pod", f"curl -i {metrics_url(config)}")
    seen = [(report, report.metrics) for report in facts.pod.reports if report.metrics is not None]
    if not seen:
        yield unknown("not known: no pod looked", *ask)
    for report, (code, partitions) in seen:
        yield from of(_answered(code, partitions, ask), source=f"pod on {report.node}")


def _answered(code: int, partitions: int, ask: tuple[str, str]) -> Answers:
    if code == 200 and partitions:
        yield fine(f"answers them for {partitions} partitions")
    elif code == 200:
        said = "answers an empty page: MetricsType isn't set, so the autoscaler changes nothing"
        yield problem(said, "Add", f"MetricsType={METRICS_TYPE}", at=At.SLURM_CONF)
    elif code == DENIED:
        yield problem(
            f"answers {DENIED}: PrivateData is set, and Slurm then serves no metrics, so the autoscaler changes nothing",
            "Remove PrivateData from slurm.conf, or autoscale from the NodeSets",
        )
    else:
        yield problem(f"answers {f'status {code}' if code else 'nothing'}", *ask)


def _metrics_hold(config: StackConfig, facts: Facts) -> Answers:
    """slurmctld doesn't end when its metrics are read after a partition was removed."""
    release = facts.slurm.version
    if reads_metrics(config) and metrics_can_end_slurmctld(release):
        said = (
            f"{release} can end when they are read after a partition was removed. Each removed NodeSet removes its partition"
        )
        yield warning(said, "Update slurmctld to 25.11.5 or newer", about=f"slurmctld's metrics ({release})")


METRICS: Final = (
    Expect("metrics-crash", "slurmctld's metrics", "slurmctld", _metrics_hold),
    Expect("metrics", "slurmctld's metrics", "a pod", _metrics),
)
EXPECTED: Final = (
    Expect("api-server", "Kubernetes API server", "here", _api_server, Run.ANY | Run.HERE),
    Expect("pod", "short-lived pod", "Kubernetes", _pods, Run.ANY),
    Expect("connect", "daemons", "here", _from_here, Run.ANY | Run.HERE),
    Expect("connect", "daemons", "a pod", _from_pods, Run.ANY),
    Expect("network-policies", "daemons", "a pod", _policies, Run.ANY),
    Expect("pods-registered", "nodes", "slurmctld", _pods_registered),
    Expect("pods-reached", "pods, from slurmctld's host", "slurmctld", _pods_reached),
    Expect("metal-hosts", "bare-metal hosts", "slurmctld", _metal_hosts),
    Expect("pods-and-metal", "bare-metal hosts and pods, to each other", BY_HAND, _pods_and_metal),
    Expect("login-hosts", "login hosts", BY_HAND, _login_hosts),
)
