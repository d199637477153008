"""Carrying a planned stop on: look at the stack's state and secrets, do the step that is due, look again.

As with a rotation under running jobs no record of steps is kept, so a run that was cut short is simply run again. What
tells that one is under way is the secret ``…Next`` of imported keys, and the lifted protection of a generated key.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from slinky_iac import external_keys, names
from slinky_iac.errors import RotationError
from slinky_iac.key_lifecycle import material, model, planned_stop, scripts
from slinky_iac.key_lifecycle.carrying import Means
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.key_lifecycle.model import Host, Rotation, Step, Turn, Which
from slinky_iac.key_lifecycle.planned_stop import StopFacts, awaiting, daemons, holders, reason
from slinky_iac.key_lifecycle.planned_stop import planned_stop as plan_of
from slinky_iac.keys.raw import check
from slinky_iac.kube.connection import for_children

_CONFIGURED: Final = {"slurm": "slurmKey", "jwt": "jwtKey"}
_FILES: Final = {"slurm": names.SLURM_KEY_FILE, "jwt": names.JWT_KEY_FILE}


@dataclass(frozen=True)
class Stopping:
    """One planned stop of one stack, as far as this run can carry it."""

    which: Which
    means: Means
    confirmed: str | None = None
    """Name of the hosts' step that the caller says is done; nobody sees a key on a host from here."""
    kubectl: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run

    def plan(self) -> Rotation:
        """All steps, and where the stop stands; with ``via`` hosts are asked, too. Changes nothing.

        Raises what reading the stack raises, and :class:`RotationError` where a host can't be asked.
        """
        found = material.read(self.means.engine)
        facts = self._facts(found, self.confirmed)
        plan = plan_of(self.which, facts)
        return planned_stop.under_way(plan, planned_stop.MEMBERS) if self._behind(plan, facts, found) else plan

    def script(self, name: str) -> str:
        """The script that brings the new key to the host ``name``; it holds the key.

        Raises :class:`RotationError` where the host has no part in the stop, or it isn't its turn.
        """
        found = material.read(self.means.engine)
        facts = self._facts(found, self.confirmed)
        before, after = planned_stop.split_hosts(self.which, facts)
        due = plan_of(self.which, facts).due
        early = due is not None and due.name == planned_stop.DAEMONS
        # Whether late hosts are done isn't known from here; once more does no harm, once slurmctld is back with the key.
        hosts = before if early else after if facts.daemons and facts.coming is None else ()
        for host in hosts:
            if host.name == name:
                return scripts.replaced(host, self._file(found), folder=self.means.folder)
        whose = ", ".join(host.name for host in hosts) or "no host's"
        raise RotationError(
            f"{name!r} has no part in what is due now, which is {whose} turn; see `--plan`. Nothing was made"
        )

    def run(self, *, asked: bool) -> Rotation:
        """Begin, or go on, until it is somebody else's turn, or done. ``asked``: somebody has said that it may stop.

        Raises :class:`RotationError` and :class:`StateError` where a step can't be done; what was done stays, and the next
        run goes on from there.
        """
        done, confirmed = "", self.confirmed
        while True:
            found = material.read(self.means.engine)
            self._refuse(found, asked=asked)
            facts = self._facts(found, confirmed)
            plan = plan_of(self.which, facts)
            if done == planned_stop.UP or self._last_is_left(plan, facts, found):
                return self._ended(plan, facts, found)
            step = plan.due
            if step is None or step.name == done:
                raise RotationError(f"step {done} was done and doesn't show in the stack. Run this again")
            if step.turn is Turn.HOSTS and self.means.via is None:
                return plan
            if not plan.under_way and found.config.keys.source == "external":
                self._require_changed(found)  # no preview comes to its end with another key in the Secret
            elif not plan.under_way and not planned_stop.unmarked(facts):
                self.means.engine.settled()
            self.means.say(f"{step.name}: {step.title}")
            if step.turn is Turn.HOSTS:
                self._on_hosts(step, found)
                confirmed = step.name
            else:
                self._ours(step.name, found, facts)
            done = step.name

    def _refuse(self, found: Material, *, asked: bool) -> None:
        why = reason(found.config, self.which)
        if why is None:
            raise RotationError(
                f"this stack's {_CONFIGURED[self.which]} can be replaced under running jobs: use --start. Nothing was"
                " changed"
            )
        if found.config.keys.source == "existing":
            raise RotationError(
                "keys.source is existing: the Secret is somebody else's to replace. `--plan` shows all steps with their"
                " commands. Nothing was changed"
            )

        if not asked:
            raise RotationError(f"{why}, and `--stop` carries it out. Nothing was changed")

    def _require_changed(self, found: Material) -> None:
        """Raises :class:`RotationError` where the Secret has the key that runs: it would be stopped for nothing."""
        ending = f"-{self.which}-key-external"
        record = next((each.outputs for each in self.means.engine.resources() if each.urn.endswith(ending)), {})
        with self.means.look(found) as look:
            secret, entry = look.place(self.which)
            raw = look.secret(secret).get(entry)
        where = f"Secret {found.config.cluster.namespace}/{secret}"
        if raw is None:
            raise RotationError(
                f"{where} isn't there, or has no entry {entry}: nothing could start with it. Nothing was changed"
            )
        check(f"{where}: {entry}", raw, allow_trailing_newline=found.config.keys.allow_trailing_newline)
        if external_keys.MARK in record and external_keys.is_recorded(raw, record):
            raise RotationError(
                f"{where} has the key that the cluster runs with. Change it at its source first"
                f" ({found.config.keys.made_by or 'keys.madeBy says who makes it'}), then run this at once: a pod that"
                " starts between the two has the new key alone. Nothing was changed"
            )
        if self.which == "jwt" and found.config.keys.tokens != names.RS256:
            raise RotationError(
                f"gates sign with the key in {where}, and slurmctld has the one from before: it would refuse their tokens,"
                " and nothing could be drained. Jobs never see this key, so bring it to the daemons instead: on the hosts of"
                f" slurmctld and slurmdbd put it as {names.JWT_KEY_FILE}, restart slurmdbd, `scontrol reconfigure`; then set"
                " keys.acceptedChange to the time that `pulumi preview` names. With slurmctld in Kubernetes put the old key"
                " back at its source first. Nothing was changed"
            )

    def _facts(self, found: Material, confirmed: str | None) -> StopFacts:
        resources = self.means.engine.resources()
        name = _CONFIGURED[self.which]
        imported = found.config.keys.source == "imported"
        return StopFacts(
            config=found.config,
            holders=holders(resources, self.which) if found.config.keys.source != "existing" else (),
            daemons=daemons(resources),
            blank=not resources,
            current=found.fingerprint(name) if imported else None,
            coming=found.fingerprint(f"{name}Next") if imported else None,
            confirmed=confirmed,
            hosts=self.means.hosts(found.config),
            stack=self.means.engine.stack,
            backups=self.means.backups,
            folder=self.means.folder,
        )

    # -- steps ---------------------------------------------------------------------------------------------------

    def _ours(self, step: str, found: Material, facts: StopFacts) -> None:
        name = _CONFIGURED[self.which]
        match step:
            case model.START:
                self.means.engine.set_key(f"{name}Next", material.generate())
            case planned_stop.REMOVE:
                protected = [each.urn for each in facts.holders if each.protected]
                wanted = facts.holders[:1] or facts.daemons[:2]
                self.means.engine.remove_with_dependents([each.urn for each in wanted], protected)
                self._await_pods(found)
            case planned_stop.KEY:
                self.means.engine.set_key(name, found.keys[f"{name}Next"])
            case planned_stop.UP:
                self._await_pods(found)
                if f"{name}Next" in found.keys:
                    self.means.engine.remove(f"{name}Next")
                self.means.engine.up()

    def _await_pods(self, found: Material) -> None:
        """Wait until no pod of the cluster is left: one that is would hand the old key to a new one on its node."""
        command = awaiting(found.config)
        self.means.say("waiting until no pod of the cluster is left")
        try:
            done = self.kubectl(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=planned_stop.PODS_S + 60,
                check=False,
                env=for_children(os.environ),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RotationError(
                f"kubectl did not end ({type(error).__name__}): whether pods with the old key are left isn't known, and new"
                " ones beside them would get it too. Install kubectl beside pulumi, then run this again"
            ) from None
        if done.returncode != 0:
            raise RotationError(
                f"pods of the cluster are still there, or can't be asked about: {done.stderr.strip()[-400:]}. New ones"
                " beside them would get the old key: see why they don't end, then run this again"
            )

    def _on_hosts(self, step: Step, found: Material) -> None:
        file = self._file(found)
        self.means.place(
            step.hosts,
            lambda host: scripts.replaced(host, file, folder=self.means.folder),
            [file],
            advice="Mend the host, then run this again",
        )

    def _last_is_left(self, plan: Rotation, facts: StopFacts, found: Material) -> bool:
        """Whether this run has to do with the last step alone: it is confirmed, or an earlier run was cut short in it.

        Nothing in the stack tells: to begin would be to drain every node, and make yet another key.
        """
        if plan.under_way or not facts.daemons:
            return False
        return self.confirmed == planned_stop.MEMBERS or bool(self._behind(plan, facts, found))

    def _behind(self, plan: Rotation, facts: StopFacts, found: Material) -> tuple[Host, ...]:
        """Hosts that start after `pulumi up` and don't have the key that the stack has; only ``via`` tells of any."""
        last = plan.steps[-1]
        if plan.under_way or last.name != planned_stop.MEMBERS or not facts.daemons or self.means.via is None:
            return ()
        return self.means.behind(last.hosts, self._file(found))

    def _ended(self, plan: Rotation, facts: StopFacts, found: Material) -> Rotation:
        """The plan at rest, once hosts that start after `pulumi up` have the key; without ``via`` these are shown as due."""
        last = plan.steps[-1]
        if last.name != planned_stop.MEMBERS or self.confirmed == last.name:
            return plan
        if self.means.via is None:
            return planned_stop.under_way(plan, last.name)
        self.means.say(f"{last.name}: {last.title}")
        self._on_hosts(replace(last, hosts=self._behind(plan, facts, found)), found)
        return plan

    # -- the key -------------------------------------------------------------------------------------------------

    def _file(self, found: Material) -> scripts.File:
        raw = found.keys.get(_CONFIGURED[self.which])
        if raw is None or found.config.keys.source != "imported":
            with self.means.look(found) as look:
                secret, entry = look.place(self.which)
                raw = look.secret(secret).get(entry)
        if raw is None:
            raise RotationError("there is no Secret with the new key yet: `pulumi up` makes it. Nothing was made")
        return scripts.File(_FILES[self.which], raw)
