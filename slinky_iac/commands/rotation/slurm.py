"""How slurm.key (auth/slurm) is replaced under running jobs. The plan is pure; keys and files are in it by their hashes.

Since 24.05 a daemon with slurm.jwks signs with one key and takes tokens of several (auth/slurm ``internal.c``). So every
daemon first learns the new key, then all change to it, then the old one goes. slurmd in pods reads the file when slurmctld
is reconfigured, on hosts too from its second life on (``host_scripts``). Running jobs ask their slurmd for tokens
(slurmstepd holds no key), so they notice nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Final

from slinky_iac.commands.rotation import host_scripts
from slinky_iac.commands.rotation.agreement import Agreement, agreement, rotation, secret
from slinky_iac.commands.rotation.cluster import Snapshot
from slinky_iac.commands.rotation.driver import KeyRotation
from slinky_iac.commands.rotation.host_scripts import File
from slinky_iac.commands.rotation.model import START, Host, Plan, Step, Turn, staged, start
from slinky_iac.errors import KubeNotFound, RotationError, SlurmrestError
from slinky_iac.keys.catalogue import SLURM, Role
from slinky_iac.keys.raw import fingerprint, several_keys
from slinky_iac.slurmrest.objects import AWAY_STATES, LOST_STATES
from slinky_iac.text import some

LEARN_PODS: Final = "learn-pods"
LEARN_HOSTS: Final = "learn-hosts"
CHANGE_PODS: Final = "change-pods"
CHANGE_HOSTS: Final = "change-hosts"
FORGET_PODS: Final = "forget-pods"
FORGET_HOSTS: Final = "forget-hosts"
PODS_S: Final = 300
"""Longest wait for kubelet to bring a Secret into all pods: unasked it looks at each every 60 to 90 s."""
NODES_S: Final = 180
"""Longest wait for slurmd to be back after a reconfiguration; at SlurmdTimeout, 300 s by default, jobs would be lost."""
_AGAIN: Final = "`slinky status` says what doesn't answer; then run the same command again"
AWAY: Final = AWAY_STATES | {"DOWN"}
"""States of nodes without a slurmd: slurmctld sends them no configuration, and the step can't wait for them."""


@dataclass(frozen=True)
class SlurmFacts:
    """What is so now. ``wanted`` and all files are SHA-256 of a slurm.jwks, keys are fingerprints."""

    current: str
    next_key: str | None
    previous: str | None
    wanted: str
    """slurm.jwks as the configuration makes it."""
    held: str | None
    """slurm.jwks in the cluster's Secret; None: there is none."""
    key_held: str | None = None
    """Fingerprint of slurm.key in the cluster's Secret."""
    pods: Mapping[str, str | None] = field(default_factory=dict)
    """slurm.jwks as each slurmd pod sees it; None: it has none, or couldn't be asked."""
    confirmed: Mapping[str, str | None] = field(default_factory=dict)
    """slurm.jwks on each outside host; None: not known."""
    hosts: tuple[Host, ...] = ()
    unmanaged_nodes: tuple[str, ...] | None = ()
    """Nodes that answer slurmctld and are neither pods of this stack nor hosts that it names; None: not known."""


def plan_of(facts: SlurmFacts) -> Plan:
    """The plan, and where it stands."""
    due = _due(facts)
    return Plan(SLURM, staged(_steps(facts.hosts), due), under_way=due != START, notes=_notes(facts))


def _steps(hosts: tuple[Host, ...]) -> tuple[Step, ...]:
    reload = "slurm.jwks on every host; slurmdbd's restart; at last slurmctld's `scontrol reconfigure`"
    return (
        start(SLURM),
        Step(
            LEARN_PODS,
            Turn.OURS,
            "`pulumi up`: slurm.jwks of the pods names the new key besides the old one",
            "read by slurmd at the reconfiguration of the next step, by sackd of client pods at once; every pod's file is"
            " awaited first",
        ),
        Step(
            LEARN_HOSTS,
            Turn.HOSTS,
            f"{reload}: they sign with the old key, and take the new one",
            "slurmd and sackd that started with slurm.key are restarted once: jobs continue, but srun and sbatch fail"
            " there for a second. A host that is left out loses the cluster at the next change, and its jobs at"
            " SlurmdTimeout",
            hosts=hosts,
        ),
        Step(
            CHANGE_PODS,
            Turn.OURS,
            "slurmKey is the new key, slurmKeyPrevious the old one; `pulumi up`: pods' slurm.jwks signs with the new",
            "and slurm.key's Secret holds the new key. All accept both, so the order of hosts doesn't matter",
        ),
        Step(
            CHANGE_HOSTS,
            Turn.HOSTS,
            f"{reload}: they sign with the new key, and accept the old one; slurm.key becomes the new key",
            "from here nothing signs with the old key",
            hosts=hosts,
        ),
        Step(
            FORGET_PODS,
            Turn.OURS,
            "slurmKeyPrevious is removed; after `pulumi up` the pods' slurm.jwks has only the new key",
            "read at the reconfiguration of the next step",
        ),
        Step(
            FORGET_HOSTS,
            Turn.HOSTS,
            f"{reload}: they know the new key only",
            "from here the old key is refused everywhere",
            hosts=hosts,
        ),
    )


def _due(facts: SlurmFacts) -> str:
    """By the configuration's secrets first (each step of ours begins by changing them), then by what pods and hosts have."""
    if facts.next_key is not None and (facts.previous is not None or facts.next_key == facts.current):
        return CHANGE_PODS  # cut short between two of its settings
    if facts.next_key is None and facts.previous is None and facts.key_held is None:
        return START  # no Secret: a stack before its first `pulumi up`
    of_pods, of_hosts, then = _LEARN if facts.next_key is not None else _CHANGE if facts.previous is not None else _FORGET
    if not _pods_have(facts):
        return of_pods
    if of_hosts == FORGET_HOSTS and not facts.confirmed:
        return then  # hosts can't be queried: this looks like a stack at rest
    return then if all(facts.confirmed.get(host.name) == facts.wanted for host in facts.hosts) else of_hosts


_LEARN = (LEARN_PODS, LEARN_HOSTS, CHANGE_PODS)
_CHANGE = (CHANGE_PODS, CHANGE_HOSTS, FORGET_PODS)
_FORGET = (FORGET_PODS, FORGET_HOSTS, START)


def _pods_have(facts: SlurmFacts) -> bool:
    key_waits = facts.next_key is None and facts.key_held != facts.current
    return facts.held == facts.wanted and not key_waits and all(file == facts.wanted for file in facts.pods.values())


def _notes(facts: SlurmFacts) -> tuple[str, ...]:
    notes = [] if facts.unmanaged_nodes == () else [of_unmanaged_nodes(facts)]
    notes += [f"pod {pod}: {_said(file, facts.wanted)}" for pod, file in sorted(facts.pods.items())]
    return (*notes, *(f"host {h.name}: {_said(facts.confirmed.get(h.name), facts.wanted)}" for h in facts.hosts))


def of_unmanaged_nodes(facts: SlurmFacts) -> str:
    """What to do about nodes that no step reaches."""
    if facts.unmanaged_nodes is None:
        return (
            "slurmctld doesn't answer, so it isn't known whether it has nodes that are neither pods nor hosts of this stack."
            f" These would not get the new key, and would lose slurmctld and their jobs at step {CHANGE_HOSTS}"
        )
    return (
        f"slurmctld has the nodes {some(facts.unmanaged_nodes)}, which are neither pods nor hosts of this"
        " stack, so this command can't bring them the new key. Name them in external.slurmdHosts, or bring them slurm.jwks"
        f" yourself at step {LEARN_HOSTS}; otherwise they lose slurmctld and their jobs at step {CHANGE_HOSTS}"
    )


def _said(file: str | None, wanted: str) -> str:
    if file is None:
        return "its slurm.jwks isn't known"
    return "has the slurm.jwks that this stack makes" if file == wanted else "has another slurm.jwks than this stack makes"


def facts_of(snapshot: Snapshot) -> SlurmFacts:
    """What is so now."""
    config, keys, cluster = snapshot.config, snapshot.keys, snapshot.cluster
    key = snapshot.held(SLURM)
    return SlurmFacts(
        current=snapshot.current(SLURM, key),
        next_key=keys.fingerprint(SLURM.next),
        previous=keys.fingerprint(SLURM.previous),
        wanted=wanted(snapshot),
        held=_held_bundle(snapshot),
        key_held=None if key is None else fingerprint(key),
        pods=cluster.pod_files() if SLURM in config.bundled else {},
        unmanaged_nodes=cluster.unmanaged_nodes() if SLURM in config.bundled else (),
        confirmed=_confirmed(snapshot),
        hosts=snapshot.hosts,
    )


def wanted(snapshot: Snapshot) -> str:
    """SHA-256 of slurm.jwks as the configuration makes it."""
    return sha256(snapshot.keys.bundle(SLURM) or b"").hexdigest()


def _held_bundle(snapshot: Snapshot) -> str | None:
    """SHA-256 of slurm.jwks in the cluster's Secret; None: there is none."""
    bundle = SLURM.bundle_at(snapshot.config.cluster.resource_name)
    held = snapshot.cluster.secret(bundle.name).get(bundle.entry)
    return None if held is None else sha256(held).hexdigest()


def _confirmed(snapshot: Snapshot) -> dict[str, str | None]:
    """slurm.jwks that each host's daemons have read; None where that isn't known. A host with slurm.key only, and the right
    one, is as if it had the file with that key."""
    own = snapshot.keys.of(SLURM)
    if own is None:
        return {}
    alone = wanted(snapshot) if several_keys(own) == snapshot.keys.bundle(SLURM) else None
    plain = sha256(own).hexdigest()

    def read(seen: Mapping[str, host_scripts.KeyReport]) -> str | None:
        file, key = seen.get(SLURM.bundle), seen.get(SLURM.file)
        if file is not None:
            return file.digest if file.read else None
        return alone if key is not None and key.digest == plain else None

    by_host = snapshot.host_files(snapshot.hosts, SLURM.bundle, SLURM.file)
    return {host: read(seen) for host, seen in by_host.items()}


def slurm_agreements(facts: SlurmFacts, *, bundled: bool, silent: Sequence[str] | None) -> Iterator[Agreement]:
    """What must be so of slurm.key. ``bundled``: whether pods have slurm.jwks; ``silent``: nodes that don't respond, None
    where slurmctld couldn't be asked."""
    yield secret(SLURM, facts.key_held, facts.current)
    if bundled:
        yield agreement("slurm.jwks: Secret", facts.held == facts.wanted, "holds the configuration's keys", "holds others")
        for pod, file in sorted(facts.pods.items()):
            yield agreement(
                f"slurm.jwks: pod {pod}",
                None if file is None else file == facts.wanted,
                "has the configuration's",
                "has another one: wait for kubelet, or run `keys rotate slurm`",
                "has none, or could not be asked",
            )
    for host, file in sorted(facts.confirmed.items()):
        same, unread = None if file is None else file == facts.wanted, "what its daemons have read isn't known"
        yield agreement(f"slurm.key: host {host}", same, "has the configuration's", "has another", unread)
    yield agreement(
        "slurm.key: nodes",
        None if silent is None else not silent,
        "every node responds to slurmctld",
        f"{', '.join((silent or ())[:8])} don't respond: another key, or down",
        "slurmctld could not be asked which nodes respond",
    )
    yield from rotation(SLURM, facts.next_key, facts.previous)


class SlurmRotation(KeyRotation):
    """Replaces slurm.key under running jobs. Every pod and host learns the new key before any signs with it."""

    of = SLURM

    @classmethod
    def agreements(cls, snapshot: Snapshot) -> Iterator[Agreement]:
        return slurm_agreements(facts_of(snapshot), bundled=SLURM in snapshot.config.bundled, silent=_silent(snapshot))

    def plan(self, snapshot: Snapshot, done: Sequence[str]) -> Plan:
        facts = facts_of(snapshot)
        plan = plan_of(facts)
        if plan.due is not None and plan.due.name == self.confirmed:
            _require_all_respond(snapshot)
            return plan_of(replace(facts, confirmed={host.name: facts.wanted for host in facts.hosts}))
        if done and done[-1] == FORGET_PODS and not plan.under_way and self.context.via is None:
            return plan.standing_at(FORGET_HOSTS)  # whether hosts have forgotten the old key can't be seen: it is shown
        return plan

    def due_on_hosts(self, snapshot: Snapshot, plan: Plan) -> Step | None:  # noqa: ARG002
        # Whether hosts that can't be asked have forgotten isn't known; once more does no harm.
        return plan.due if plan.under_way else plan.steps[-1]

    def check_start(self, snapshot: Snapshot) -> None:
        facts = facts_of(snapshot)
        if without := [pod for pod, file in facts.pods.items() if file != facts.wanted]:
            raise RotationError(
                f"pods {', '.join(without[:6])} don't have this stack's slurm.jwks: after keys.jwks: true one `pulumi"
                " up` replaces the pods of every NodeSet, drained; wait for its end. Nothing was changed"
            )
        if facts.unmanaged_nodes is None:
            raise RotationError(f"{of_unmanaged_nodes(facts)}. Nothing was changed. {_AGAIN}")
        if facts.unmanaged_nodes:
            self.context.say(of_unmanaged_nodes(facts))
        self.context.engine.settled()

    def act(self, snapshot: Snapshot, step: str) -> None:
        """Change the configuration, then bring slurm.jwks, as it now is, to the Secret and into every pod."""
        engine = self.context.engine
        if step == CHANGE_PODS:
            self.context.promote_next(SLURM, snapshot.keys)
        elif step == FORGET_PODS and SLURM.previous in snapshot.keys.raw:
            engine.remove(SLURM.previous)
        if step != LEARN_PODS or _held_bundle(snapshot) != wanted(snapshot):
            engine.update_keys(self.context.say)
        with self.context.snapshot() as now:
            self._await_pods(now)

    def _await_pods(self, snapshot: Snapshot) -> None:
        file = wanted(snapshot)

        def late() -> str:
            files = snapshot.cluster.pod_files()
            stragglers = sorted(pod for pod, has in files.items() if has != file)
            if stragglers:
                snapshot.cluster.trigger_sync(files, file)
            else:
                self.context.say(f"{len(files)} pods have the new {SLURM.bundle}")
            return ", ".join(stragglers[:8])

        self.context.wait_until(
            late,
            PODS_S,
            lambda pods: (
                f"after {PODS_S} s these pods don't have the new slurm.jwks: {pods}. Nothing signs with a key that they"
                " don't know, so nothing is lost: see why kubelet doesn't follow the Secret, or drain and delete these pods,"
                " then run this again"
            ),
        )

    def files(self, snapshot: Snapshot, step: str) -> list[File]:
        keys = snapshot.keys
        files = [File(SLURM.bundle, keys.bundle(SLURM) or b"")]
        # The plain key too: a host that is set up from its neighbour's, or has lost its slurm.jwks, starts with it.
        return [*files, File(SLURM.file, keys.raw[SLURM.config])] if step == CHANGE_HOSTS else files

    def on_hosts(self, snapshot: Snapshot, step: Step) -> None:
        """Hosts that an earlier run has done are left out. slurmctld's counts as done only when every node has read the
        file: a run that ended before is repeated with it."""
        files, folder, place = self.files(snapshot, step.name), self.context.folder, self.context.place
        before = _started(snapshot, without=AWAY)  # one that is silent may run jobs, and would be lost at the change
        facts = facts_of(snapshot)
        hosts = [host for host in step.hosts if facts.confirmed.get(host.name) != facts.wanted]
        last = [host for host in hosts if Role.SLURMCTLD in host.roles]

        def change(host: Host) -> str:
            return host_scripts.change(host, files, folder=folder, marked=host not in last)

        place(hosts, change, files, advice=self.advice)
        self._await_nodes(snapshot, before)
        place(last, lambda _: host_scripts.mark(files, folder=folder), files, advice=self.advice)

    def _await_nodes(self, snapshot: Snapshot, before: Mapping[str, int | None]) -> None:
        """Wait until every slurmd that was there before has read its configuration again and responds."""

        def late() -> str:
            try:
                now = _started(snapshot)
            except SlurmrestError:  # slurmctld is reading its configuration
                return ", ".join(sorted(before)[:8])
            stragglers = sorted(node for node, started in before.items() if now.get(node) in (None, 0, started))
            return ", ".join(stragglers[:8])

        self.context.wait_until(
            late,
            NODES_S,
            lambda nodes: (
                f"after {NODES_S} s these nodes haven't come back: {nodes}. Their jobs are lost at SlurmdTimeout. See"
                " slurmd's log there: `decode_jwt` means that its slurm.jwks is an older one. Place it and restart slurmd,"
                " then run this again"
            ),
        )


def _silent(snapshot: Snapshot) -> list[str] | None:
    """Nodes that don't respond."""
    try:
        return sorted(node.name for node in snapshot.cluster.nodes() if node.lost)
    except (SlurmrestError, KubeNotFound):  # no key to ask with, before the first `pulumi up`
        return None


def _started(snapshot: Snapshot, without: frozenset[str] = LOST_STATES) -> dict[str, int | None]:
    """When slurmd started, by node, ``without`` nodes in these states. Raises what asking slurmrestd raises."""
    return {node.name: node.slurmd_start_time.value for node in snapshot.cluster.nodes() if not node.state & without}


def _require_all_respond(snapshot: Snapshot) -> None:
    silent = sorted(n.name for n in snapshot.cluster.nodes() if "NOT_RESPONDING" in n.state and "DOWN" not in n.state)
    if silent:
        raise RotationError(
            f"nodes {', '.join(silent[:8])} don't respond: the step isn't done there, and their jobs are lost at"
            " SlurmdTimeout. Look at slurmd's log on them. Nothing was changed"
        )
