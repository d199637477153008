"""Carrying a rotation on: look, do the step that is due, look again; stop where it is somebody else's turn.

No record of steps is kept. Where a rotation stands is told by the configuration's secrets, the cluster's Secrets, the files
in pods and on hosts, and by who takes which token; so a run that was cut short anywhere is simply run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from slinky_iac import names
from slinky_iac.errors import RotationError, SlurmrestError
from slinky_iac.key_lifecycle import jwt, material, model, pods, scripts, slurm
from slinky_iac.key_lifecycle.carrying import Means, next_step
from slinky_iac.key_lifecycle.hosts import host_in_turn
from slinky_iac.key_lifecycle.look import Look
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.key_lifecycle.model import START, Host, Role, Rotation, Step, Turn, Which, staged
from slinky_iac.key_lifecycle.planned_stop import reason

PODS_S: Final = 300
"""Longest wait for kubelet to bring a Secret into all pods: by itself it looks at each every 60 to 90 s."""
NODES_S: Final = 180
"""Longest wait for slurmd to be back after a reconfiguration; at SlurmdTimeout, 300 s by default, jobs would be lost."""
EVERY_S: Final = 1.0
LOST: Final = frozenset({"DOWN", "NOT_RESPONDING"})
AWAY: Final = frozenset({"DOWN", "POWERED_DOWN", "POWERING_DOWN", "FUTURE"})
"""States of nodes without a slurmd: slurmctld sends them no configuration, and the step can't wait for them."""


@dataclass(frozen=True)
class Rotating:
    """One rotation of one stack, as far as this run can carry it."""

    which: Which
    means: Means
    confirmed: str | None = None
    """Name of the hosts' step that the caller says is done; needed for slurm.key where hosts can't be asked."""

    def plan(self) -> Rotation:
        """Where the rotation stands. Changes nothing."""
        with self._look() as look:
            return self._plan(look)

    def script(self, name: str) -> str:
        """The script of the hosts' step that is due, for the host ``name``; it holds a key.

        Raises :class:`RotationError` where no such step is due, or the host has no part in it.
        """
        with self._look() as look:
            plan = self._plan(look)
            step = plan.due
            if self.which == "slurm" and step is not None and step.name == START:
                step = plan.steps[-1]  # whether hosts that can't be asked have forgotten isn't known; once more does no harm
            step, host = host_in_turn(step, name)
            return scripts.change(host, _files(look.material, step.name), folder=self.means.folder)

    def run(self, *, start: bool) -> Rotation:
        """Carry on until it is somebody else's turn, or done. ``start``: begin where none is under way.

        Raises :class:`RotationError` where a step can't be done or isn't seen to be; what was done stays, and the next run
        goes on from there.
        """
        done: str | None = None
        while True:
            with self._look() as look:
                plan = self._plan(look)
                step = next_step(plan, done, start=start, via=self.means.via)
                if step is None:
                    return self._ended(plan, done)
                self.means.say(f"{step.name}: {step.title}")
                if step.turn is Turn.HOSTS:
                    self._on_hosts(look, step)
                else:
                    self._ours(look, step.name)
                done = step.name

    def _ended(self, plan: Rotation, done: str | None) -> Rotation:
        """Nobody can see whether hosts without ``via`` have forgotten the old key: that step is left to be shown."""
        if done == slurm.FORGET_PODS and self.means.via is None:
            return replace(plan, steps=staged(plan.steps, slurm.FORGET_HOSTS), under_way=True)
        return plan

    @contextmanager
    def _look(self) -> Iterator[Look]:
        found = material.read(self.means.engine)
        refuse_unrotatable(found, self.which)
        with self.means.look(found) as look:
            yield look

    def _plan(self, look: Look) -> Rotation:
        if self.which == "jwt":
            return jwt.rotation(look.jwt())
        facts = look.slurm()
        plan = slurm.rotation(facts)
        if plan.due is not None and plan.due.name == self.confirmed:
            _require_all_respond(look)
            return slurm.rotation(replace(facts, confirmed={host.name: facts.wanted for host in facts.hosts}))
        return plan

    # -- the stack's own steps -----------------------------------------------------------------------------------

    def _ours(self, look: Look, name: str) -> None:
        keys = look.material.keys
        match name:
            case model.START:
                self._make(look)
            case jwt.CARRY:
                self.means.engine.update_keys(self.means.say)
            case jwt.ADOPT:
                if "jwtKeyNext" in keys:
                    self.means.engine.set_key("jwtKey", keys["jwtKeyNext"])
                    self.means.engine.remove("jwtKeyNext")
                self.means.engine.update_keys(self.means.say)
            case slurm.LEARN_PODS:
                self._to_pods(look)
            case slurm.CHANGE_PODS:
                self.means.swap("slurmKey", keys)
                self._to_pods(None)
            case slurm.FORGET_PODS:
                if "slurmKeyPrevious" in keys:
                    self.means.engine.remove("slurmKeyPrevious")
                self._to_pods(None)

    def _make(self, look: Look) -> None:
        if self.which == "slurm":
            facts = look.slurm()
            without = [pod for pod, file in facts.pods.items() if file != facts.wanted]
            if without:
                raise RotationError(
                    f"pods {', '.join(without[:6])} don't have this stack's slurm.jwks: after keys.jwks: true one `pulumi"
                    " up` replaces the pods of every NodeSet, drained; wait for its end. Nothing was changed"
                )
            if facts.unmanaged_nodes is None:
                raise RotationError(
                    f"{slurm.of_unmanaged_nodes(facts)}. Run this again when slurmctld answers. Nothing was changed"
                )
            if facts.unmanaged_nodes:
                self.means.say(slurm.of_unmanaged_nodes(facts))
        self.means.engine.settled()
        self.means.engine.set_key(f"{self.which}KeyNext", material.generate())

    def _to_pods(self, look: Look | None) -> None:
        """Bring slurm.jwks, as the configuration now makes it, to the Secret and into every pod."""
        facts = look.slurm() if look is not None else None
        if facts is None or facts.held != facts.wanted:
            self.means.engine.update_keys(self.means.say)
        with self._look() as now:
            config, wanted = now.material.config, now.wanted
            end = self.means.clock.monotonic() + PODS_S
            while True:
                files = pods.digests(now.session, config)
                late = sorted(pod for pod, file in files.items() if file != wanted)
                if not late:
                    self.means.say(f"{len(files)} pods have the new {names.SLURM_JWKS_FILE}")
                    return
                if self.means.clock.monotonic() > end:
                    raise RotationError(
                        f"after {PODS_S} s these pods don't have the new slurm.jwks: {', '.join(late[:8])}. Nobody signs"
                        " with a key that they don't know, so nothing is lost: see why kubelet doesn't follow the Secret, or"
                        " drain and delete these pods, then run this again"
                    )
                pods.nudge(now.session, config, files, wanted)
                self.means.clock.sleep(EVERY_S)

    # -- the hosts' steps ----------------------------------------------------------------------------------------

    def _on_hosts(self, look: Look, step: Step) -> None:
        """Run the step's scripts, slurmctld's host last, and see that they took effect.

        That host counts as done only when every node has read the file: a run that ended before is repeated with it.
        """
        files, folder = _files(look.material, step.name), self.means.folder
        before = _started(look, without=AWAY)  # one that is silent may run jobs, and would be lost at the change
        hosts = self._not_done(look, step)
        advice = "Its daemons may have read it: mend the host and run this again at once"
        if self.which == "jwt":
            self.means.place(hosts, lambda host: scripts.change(host, files, folder=folder), files, advice=advice)
            self._await_change(look)
            return
        last = [host for host in hosts if Role.SLURMCTLD in host.roles]
        self.means.place(
            hosts, lambda host: scripts.change(host, files, folder=folder, marked=host not in last), files, advice=advice
        )
        self._await_nodes(look, before)
        self.means.place(last, lambda _: scripts.mark(files, folder=folder), files, advice=advice)

    def _not_done(self, look: Look, step: Step) -> tuple[Host, ...]:
        """The step's hosts without those that an earlier run, cut short, has done. slurmctld's is the last of them."""
        if self.which == "jwt":
            return step.hosts
        facts = look.slurm()
        return tuple(host for host in step.hosts if facts.confirmed.get(host.name) != facts.wanted)

    def _await_nodes(self, look: Look, before: Mapping[str, int | None]) -> None:
        """Wait until every slurmd that was there before has read its configuration anew and responds."""
        end = self.means.clock.monotonic() + NODES_S
        late: list[str] = sorted(before)
        while late:
            if self.means.clock.monotonic() > end:
                raise RotationError(
                    f"after {NODES_S} s these nodes haven't come back: {', '.join(late[:8])}. Their jobs are lost at"
                    " SlurmdTimeout. See slurmd's log there: `decode_jwt` means that its slurm.jwks is an older one. Place"
                    " it and restart slurmd, then run this again"
                )
            self.means.clock.sleep(EVERY_S)
            try:
                now = _started(look)
            except SlurmrestError:  # slurmctld is reading its configuration
                continue
            late = sorted(node for node, started in before.items() if now.get(node) in (None, 0, started))

    def _await_change(self, look: Look) -> None:
        """Wait until slurmctld and slurmdbd take the new JWT key and refuse the old one."""
        end = self.means.clock.monotonic() + NODES_S
        while True:
            facts = look.jwt()
            plan = jwt.rotation(facts)
            if plan.due is None or plan.due.name != jwt.HOSTS:
                return
            if self.means.clock.monotonic() > end:
                raise RotationError(f"the hosts have the new file, but {'; '.join(plan.notes)}. Run this again")
            self.means.clock.sleep(EVERY_S)


def refuse_unrotatable(found: Material, which: Which) -> None:
    """Raises :class:`RotationError` for a stack whose key can't be replaced under running jobs, with what it can do."""
    why = reason(found.config, which)
    if why is not None:
        raise RotationError(f"{why}, and `--stop` carries it out. Nothing was changed")


def _files(found: Material, step: str) -> list[scripts.File]:
    if step == jwt.HOSTS:
        return [scripts.File(names.JWT_KEY_FILE, found.keys["jwtKeyNext"])]
    files = [scripts.File(names.SLURM_JWKS_FILE, found.jwks() or b"")]
    # The plain key too: a host that is set up from its neighbour's, or has lost its slurm.jwks, starts with it.
    return [*files, scripts.File(names.SLURM_KEY_FILE, found.keys["slurmKey"])] if step == slurm.CHANGE_HOSTS else files


def _started(look: Look, without: frozenset[str] = LOST) -> dict[str, int | None]:
    """When slurmd started, by node, ``without`` nodes in these states. Raises what asking slurmrestd raises."""
    answer = look.session.slurm.nodes(allow_none=True)
    return (
        {node.name: node.slurmd_start_time.value for node in answer.nodes if not node.state & without}
        if answer is not None
        else {}
    )


def _require_all_respond(look: Look) -> None:
    answer = look.session.slurm.nodes(allow_none=True)
    silent = sorted(n.name for n in answer.nodes if "NOT_RESPONDING" in n.state and "DOWN" not in n.state) if answer else []
    if silent:
        raise RotationError(
            f"nodes {', '.join(silent[:8])} don't respond: the step isn't done there, and their jobs are lost at"
            " SlurmdTimeout. Look at slurmd's log on them. Nothing was changed"
        )
