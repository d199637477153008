"""The gates' dynamic providers: ten lines a method, all deciding is elsewhere.

Wire format: this module's path, the class names and the props' names are in users' state files; an old state is
destroyed by today's code through exactly these names. Instances have no attributes, for they are pickled by reference
into every state, and one instance serves all calls at once.

``check`` is the one place that sees old and new values in a preview, so the plan is made there; it asks Kubernetes and
slurmrestd, changes nothing, and says so in the plan where it gets no answer.

Every program imports this module, to hand its classes to the engine; only the plugin process calls their methods. So
what the methods work with (httpx, the clients, the planner: 130 ms) is imported in them.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from pulumi.dynamic import CheckFailure, CheckResult, CreateResult, DiffResult, ReadResult, UpdateResult

from slinky_iac import names
from slinky_iac.drain.session_hosts import SessionHosts
from slinky_iac.drain.settings import KUBERNETES, LEAVING, GateSettings, OutsideSettings, Settings
from slinky_iac.engine import provider
from slinky_iac.engine.plugin_process import prepare
from slinky_iac.engine.provider import Gate, Props, own_inputs
from slinky_iac.selection import faults

if TYPE_CHECKING:
    from slinky_iac.drain.plan import Seen
    from slinky_iac.drain.session import Session
    from slinky_iac.kube.objects import NodeSet

LAST_DRAIN = "lastDrain"
"""Output of a NodeSetScale whose last drain has ended: what slurmdbd says became of the jobs. Absent before the first."""


class ClusterGate(Gate):
    """A gate that records in which Kubernetes cluster it was made. In another one, by a destroy from a shell with another
    kubeconfig, everything would be gone already, and the state would be emptied."""

    def recorded(self, _olds: Props, news: Props) -> Props:
        """With the UID of the cluster that answers; what the state knows is kept where none does."""
        from slinky_iac.cluster.which import answering

        way = [news.get("kubeconfig"), news.get("context")]
        known = ("" if provider.is_unknown(way) else answering(*way)) or _olds.get(KUBERNETES)
        return {**news, KUBERNETES: known} if known else news


class NodeSetScaleProvider(ClusterGate):
    """Owns the number of replicas of one NodeSet, and its deletion.

    The NodeSet is created with 0 replicas and Pulumi never writes the number again. This resource, after it, writes it:
    raises it and waits for the nodes to register, or drains the selected nodes and then lowers it. Its deletion, which the
    engine orders before that of the NodeSet, drains all nodes and deletes the NodeSet itself (docs/adr/0010).
    """

    def planned(self, olds: Props, news: Props) -> CheckResult:
        """Add the plan: who is drained, whose jobs are waited for and until when. Limits fail here, in preview."""
        from slinky_iac.drain import preview
        from slinky_iac.parts import writers

        news = writers.inputs(olds, news)
        return checked(olds, news, sound, preview.nodeset_scale, "replicas")

    def create(self, props: Props) -> CreateResult:
        """Write the number and wait until the nodes are registered with slurmctld; drain first where there are more.

        Where they don't all come the gate is in the state all the same: those that came take jobs, and only it drains them.
        """
        return _kept(props, lambda props: _settle(props, first=True))

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """Bring the NodeSet to its number: drain and lower, or raise and wait."""
        told = _settle(_news) or _olds.get(LAST_DRAIN)
        return UpdateResult({**outputs(_news), **({LAST_DRAIN: told} if told else {})})

    def read(self, id_: str, props: Props) -> ReadResult:
        """The state as refresh finds it."""
        settings = GateSettings.from_props(props)
        with at_work(settings) as session:
            return ReadResult(id_, refreshed(settings, props, session.nodeset(settings.resource)))

    def delete(self, _id: str, _props: Props) -> None:
        """Drain every node of the NodeSet and delete it; no program runs now, so all comes from the state."""
        from slinky_iac.drain import proof, scale

        settings = GateSettings.from_props(_props)
        with at_work(settings) as session:
            met = scale.tear_down(session, settings)
            if met is None:
                return
            scale.forget_removed(session, settings)
            proof.prove(session, settings, met)


class OutsideHostsProvider(ClusterGate):
    """Drains, holds and returns bare-metal slurmd hosts as the configuration says."""

    def planned(self, _olds: Props, news: Props) -> CheckResult:
        """Add the plan of what will be drained and returned."""
        from slinky_iac.drain import preview

        def read(props: Props) -> OutsideSettings:
            return OutsideSettings.from_props(props, _olds)

        return checked(_olds, news, read, preview.outside_hosts, "hosts")

    def create(self, props: Props) -> CreateResult:
        """Bring the hosts into the state that is asked for. Where that fails, those that are held are returned by this gate
        only, so it is made all the same."""
        return _kept(props, lambda props: _maintain(props, {}))

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """The same; hosts that are no longer in the configuration are returned."""
        _maintain(_news, _olds)
        return UpdateResult(outputs(_news))

    def delete(self, _id: str, _props: Props) -> None:
        """Return the hosts that this stack holds."""
        from slinky_iac.drain import maintenance

        settings = OutsideSettings.from_props(_props)
        with at_work(settings) as session:
            maintenance.release(session, settings)


class SessionsProvider(ClusterGate):
    """Owns the deletion of pods in which people run srun and salloc: of a login set, of a client, of notebooks.

    An update of them is Pulumi's, and a hook right before it asks the same (docs/adr/0024).
    """

    def planned(self, _olds: Props, news: Props) -> CheckResult:
        """Claim what makes the pods for this run. A gate that was renamed is deleted after the check of the new one."""
        _CLAIMED[_makes(news)] = news["urn"]
        return CheckResult(news, [])

    def create(self, props: Props) -> CreateResult:
        """Record the inputs; nothing is asked or changed."""
        return CreateResult(f"{props['stack']}/{props['host']}", own_inputs(props))

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """The same."""
        return UpdateResult(own_inputs(_news))

    def delete(self, _id: str, _props: Props) -> None:
        """Wait until nothing runs from the pods, and delete what makes them; no program runs now, so all comes from the
        state."""
        from slinky_iac.drain import sessions

        settings, owner = sessions.SessionSettings.from_props(_props), _CLAIMED.get(_makes(_props), _props["urn"])
        with at_work(settings) as session:
            if owner == settings.urn:
                sessions.finish(session, settings)
            else:
                said = f"{settings.what} stays: another gate of this program owns it ({owner}), and removes it"
                session.report(said, severity="warning", keep=True)


_CLAIMED: Final[dict[tuple[str, str, str], str]] = {}
"""URN of the gate that the program has for what makes pods of sessions. On a login set itself nothing can be noted:
slurm-operator gives its annotations to the pods (login_app.go), which are then replaced."""


def _makes(props: Props) -> tuple[str, str, str]:
    hosts = SessionHosts(**SessionHosts.fields_of(props))
    return hosts.namespace, hosts.kind, hosts.resource or hosts.name


class RemovalsProvider(Gate):
    """Knows what of the cluster stands, so that a preview has the plan of what leaves the program."""

    def planned(self, olds: Props, news: Props) -> CheckResult:
        """Add the plan of what the program has dropped and the cluster still has. Limits fail here, in the preview."""
        from slinky_iac.drain import removals

        leaving = removals.gone(olds, news)
        news = {**news, "plan": olds.get("plan") or {}, removals.PENDING: {}}
        if not leaving:
            return CheckResult(news, [])
        try:
            seen, pending = removals.plan(news, leaving)
        except ValueError as fault:
            return CheckResult(news, [CheckFailure("policy", str(fault))])
        added = {"plan": seen.props(olds), removals.PENDING: pending}
        return CheckResult({**news, **added}, [CheckFailure(removals.STANDS, text) for text in seen.failures])

    def diff(self, _id: str, _olds: Props, _news: Props) -> DiffResult:
        """That something has left the cluster since isn't a difference."""
        from slinky_iac.drain import removals

        own = own_inputs(_news)
        kept = own if own.get(removals.PENDING) else {key: own[key] for key in own.keys() - {"plan", removals.PENDING}}
        return super().diff(_id, _olds, kept)

    def create(self, props: Props) -> CreateResult:
        """Record the inputs."""
        return CreateResult(f"{props['stack']}/removals", own_inputs(props))

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """Judge limits by a look of its own, before anything is removed."""
        from slinky_iac.drain import removals

        if _news.get(removals.PENDING):
            with at_work(Settings(**Settings.common(_news, ""))) as session:
                removals.judge(session, _news)
        return UpdateResult(own_inputs(_news))


Found = TypeVar("Found")


def checked(
    olds: Props, news: Props, read: Callable[[Props], Found], plan: Callable[[Found, Props], Seen], about: str
) -> CheckResult:
    """The inputs with what ``plan`` adds to them, and what must stop the preview, which is ``about`` this input."""
    try:
        settings = read(news)
    except ValueError as fault:
        return CheckResult(news, [CheckFailure("policy", str(fault))])
    seen = plan(settings, olds)
    added = {"plan": seen.props(olds), **({"due": seen.due} if seen.due else {})}
    return CheckResult({**news, **added}, [CheckFailure(about, text) for text in seen.failures])


def sound(props: Props) -> GateSettings:
    """The settings that a program gives. Raises ValueError also where slurm-operator would read which Kubernetes nodes fit
    in another way than meant: an Output is judged here first, and a NodeSet of a program's own by no rule before."""
    settings = GateSettings.from_props(props)
    wrong = [] if settings.selection is None else [f"pod.{fault}" for fault in faults(settings.selection)]
    if wrong:
        raise ValueError(f"{settings.owner.nodeset}: {'; '.join(wrong)}. No node was drained")
    return settings


@contextmanager
def at_work(settings: Settings) -> Iterator[Session]:
    """A session for what one provider call does; its connections are closed at the end.

    Raises StateError where another Kubernetes cluster answers than the one that the state has, and DrainBlocked where an
    object of Kubernetes can't be read.
    """
    from slinky_iac.cluster.which import require_recorded
    from slinky_iac.drain.session import open_session
    from slinky_iac.errors import DrainBlocked, KubeError

    prepare()
    require_recorded(settings.kubernetes, settings.reach, settings.owner.text)
    try:
        with open_session(settings.reach, settings.urn) as session:
            yield session
    except KubeError as error:
        if type(error) is not KubeError:  # the others are no answer, or an answer that is understood
            raise
        raise DrainBlocked(
            f"{settings.owner.text}: {error}. This gate changes nothing more; what is drained or closed stays so, as `slinky"
            " drain status` shows. Look at the object by `kubectl get … -o yaml`, mend it, then run the same command again"
        ) from error


def _kept(props: Props, act: Callable[[Props], object]) -> CreateResult:
    """The result of a creation that has something to wait for; the resource is in the state also where that fails."""
    from slinky_iac.engine.plugin_process import keep_made

    try:
        act(props)
    except Exception:
        keep_made(_identity(props), outputs(props), props)
        raise
    return CreateResult(_identity(props), outputs(props))


def _settle(props: Props, *, first: bool = False) -> str:
    """Returns what became of the jobs that a drain met; ``""`` where there was none."""
    from slinky_iac.drain import proof, scale
    from slinky_iac.errors import DrainDeadline

    settings = GateSettings.from_props(props)
    with at_work(settings) as session:
        met = scale.settle(session, settings, first=first)
        scale.roll(session, settings, met)
        try:
            seen = scale.await_members(session, settings)
        except DrainDeadline:
            proof.prove(session, settings, met)
            raise
        scale.forget_removed(session, settings, seen)
        if first:
            scale.open_again(session, settings)
        return proof.prove(session, settings, met)


def _maintain(props: Props, olds: Props) -> None:
    from slinky_iac.drain import maintenance

    settings = OutsideSettings.from_props(props, olds)
    with at_work(settings) as session:
        session.require_kubeconfig()
        maintenance.maintain(session, settings)


def _identity(props: Props) -> str:
    return f"{props['stack']}/{props.get('nodeset', names.HOSTS_OWNER)}"


def outputs(props: Props) -> Props:
    """A gate's outputs: its inputs without those that only one update needs."""
    return {key: value for key, value in provider.outputs(props).items() if key != LEAVING}


def refreshed(settings: GateSettings, props: Props, state: NodeSet | None) -> Props:
    """A gate's outputs with the live number, where that is the stack's to write. ``state``: the NodeSet; None where there is
    none."""
    if state is None or not settings.by_stack or settings.selection is not None:
        return outputs(props)
    return {**outputs(props), "replicas": state.spec.replicas}
