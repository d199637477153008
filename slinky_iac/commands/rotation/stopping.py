"""Carrying a planned stop out: what :mod:`.planned_stop` plans, by the one loop of :mod:`.driver`.

What tells that one is under way is the next key of imported keys, and the lifted protection of a generated key.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace

from slinky_iac import causes, external_keys
from slinky_iac.cluster.blueprint import blueprint, standing
from slinky_iac.commands.rotation import host_scripts, planned_stop
from slinky_iac.commands.rotation.cluster import Snapshot, kubectl_run
from slinky_iac.commands.rotation.driver import KeyRotation
from slinky_iac.commands.rotation.host_scripts import File, hosts_of
from slinky_iac.commands.rotation.model import Host, Plan, Step
from slinky_iac.commands.rotation.planned_stop import DAEMONS, KEY, MEMBERS, REMOVE, UP, StopFacts
from slinky_iac.config.reading.values import Values
from slinky_iac.errors import RotationError
from slinky_iac.keys.catalogue import JWT
from slinky_iac.keys.raw import check


class PlannedStop(KeyRotation):
    """Replaces a key while the cluster is stopped. ``confirmed``: no key on a host is seen from here without a way to it."""

    advice = "Mend the host, then run this again"

    def refuse(self, values: Values, *, start: bool | None) -> None:
        """Every stack's stop can be planned; none begins where it isn't needed, or unasked."""
        if start is None:
            return
        why = planned_stop.reason(values.config, self.key)
        if why is None:
            raise RotationError(
                f"this stack's {self.key.config} can be replaced under running jobs: use --start. Nothing was changed"
            )
        if not values.config.key_source.in_state:
            raise RotationError(
                "keys.source is existing, so this program doesn't replace the Secret. `--plan` shows all steps with their"
                " commands. Nothing was changed"
            )
        if not start:
            raise RotationError(f"{why}: {planned_stop.AND_STOP}. Nothing was changed")

    def plan(self, snapshot: Snapshot, done: Sequence[str]) -> Plan:
        """The plan; where there is a way to hosts, those that start after `pulumi up` are asked, too."""
        facts = self._facts(snapshot.values, done)
        plan = planned_stop.plan_of(self.key, facts)
        last = plan.steps[-1]
        if plan.under_way or last.name != MEMBERS or self.confirmed == MEMBERS or not facts.daemons:
            return plan
        # Nothing in the stack tells of these hosts: to begin again would be to drain every node, and make yet another key.
        left = UP in done if self.context.via is None else bool(self._behind(snapshot, last))
        return plan.standing_at(MEMBERS) if left else plan

    def due_on_hosts(self, snapshot: Snapshot, plan: Plan) -> Step | None:
        facts = self._facts(snapshot.values, ())
        if (plan.due is not None and plan.due.name == DAEMONS) or not facts.daemons or facts.next_key is not None:
            return plan.due
        # Whether late hosts are done isn't known from here; once more does no harm, once slurmctld is back with the key.
        return plan.steps[-1] if plan.steps[-1].name == MEMBERS else plan.due

    def check_start(self, snapshot: Snapshot) -> None:
        if snapshot.config.key_source.awaited:
            self._require_changed(snapshot)  # no preview comes to its end with another key in the Secret
        elif not planned_stop.unmarked(self._facts(snapshot.values, ())):
            self.context.engine.settled()

    def _require_changed(self, snapshot: Snapshot) -> None:
        """Raises where the Secret has the key that runs: it would be stopped for nothing."""
        config, place = snapshot.config, snapshot.config.secret_of(self.key)
        ending = f"-{self.key.logical}-external"
        record = next(
            (resource.outputs for resource in self.context.engine.resources() if resource.urn.endswith(ending)), {}
        )
        raw, where = snapshot.held(self.key), f"Secret {config.cluster.namespace}/{place.name}"
        if raw is None:
            raise RotationError(
                f"{where} isn't there, or has no entry {place.entry}: nothing could start with it. Nothing was changed"
            )
        check(f"{where}: {place.entry}", raw, allow_trailing_newline=config.keys.allow_trailing_newline)
        if external_keys.MARK in record and external_keys.is_recorded(raw, record):
            raise RotationError(
                f"{where} has the key that the cluster runs with. Change it at its source first"
                f" ({config.keys.made_by or 'keys.madeBy says who makes it'}), then run this at once: a pod that starts"
                " between the two has the new key alone. Nothing was changed"
            )
        if self.key is config.signing.key:
            raise RotationError(
                f"gates sign with the key in {where}, and slurmctld has the one from before: it would refuse their tokens,"
                " and nothing could be drained. Jobs never see this key, so bring it to the daemons instead: on the hosts of"
                f" slurmctld and slurmdbd put it as {JWT.file}, restart slurmdbd, `scontrol reconfigure`; then set"
                " keys.acceptedChange to the time that `pulumi preview` names. With slurmctld in Kubernetes put the old key"
                " back at its source first. Nothing was changed"
            )

    def _facts(self, values: Values, done: Sequence[str]) -> StopFacts:
        engine, config = self.context.engine, values.config
        resources = engine.resources()
        stack = blueprint(resources)
        imported = self.key in config.in_configuration
        return StopFacts(
            config=config,
            holders=stack.holders(resources, self.key.label) if config.key_source.in_state else (),
            daemons=standing(resources, stack.daemons),
            blank=not resources,
            current=values.keys.fingerprint(self.key.config) if imported else None,
            next_key=values.keys.fingerprint(self.key.next) if imported else None,
            confirmed=DAEMONS if DAEMONS in done else self.confirmed,
            hosts=hosts_of(config, self.context.backups),
            stack=engine.stack,
            backups=self.context.backups,
            folder=self.context.folder,
        )

    def act(self, snapshot: Snapshot, step: str) -> None:
        engine, keys = self.context.engine, snapshot.keys.raw
        if step == REMOVE:
            facts = self._facts(snapshot.values, ())
            protected = [holder.urn for holder in facts.holders if holder.protect]
            holders = [holder.urn for holder in planned_stop.first_removed(facts)]
            engine.remove_with_dependents(holders, protected, planned_stop.kept(facts.config))
            self._await_pods(snapshot)
        elif step == KEY:
            engine.set_key(self.key.config, keys[self.key.next])
        else:
            self._await_pods(snapshot)
            if self.key.next in keys:
                engine.remove(self.key.next)
            engine.up()

    def _await_pods(self, snapshot: Snapshot) -> None:
        """Wait until no pod of the cluster is left: one that is would hand the old key to a new one on its node."""
        command = planned_stop.awaiting(snapshot.config)
        self.context.say("waiting until no pod of the cluster is left")
        try:
            done = kubectl_run(self.context.run, command, timeout=planned_stop.PODS_S + 60)
        except (OSError, subprocess.TimeoutExpired) as error:
            still = isinstance(error, subprocess.TimeoutExpired)
            look = f"Look at `kubectl get pods -n {snapshot.config.cluster.namespace}`" if still else "Make kubectl run here"
            raise RotationError(
                f"{causes.of_command(command, error)}: it is unknown whether pods with the old key are left, and new pods"
                f" beside them would get it too. {look}, then run this again"
            ) from None
        if done.returncode != 0:
            raise RotationError(
                f"pods of the cluster are still there, or can't be asked about: {done.stderr.strip()[-400:]}. New ones"
                " beside them would get the old key: see why they don't end, then run this again"
            )

    def on_hosts(self, snapshot: Snapshot, step: Step) -> None:
        hosts = self._behind(snapshot, step) if step.name == MEMBERS else step.hosts
        super().on_hosts(snapshot, replace(step, hosts=hosts))

    def host_script(self, host: Host, files: Sequence[File]) -> str:
        (file,) = files
        return host_scripts.replaced(host, file, folder=self.context.folder)

    def files(self, snapshot: Snapshot, step: str) -> list[File]:  # noqa: ARG002
        raw = snapshot.keys.of(self.key) if self.key in snapshot.config.in_configuration else None
        raw = raw if raw is not None else snapshot.held(self.key)
        if raw is None:
            raise RotationError("there is no Secret with the new key yet: `pulumi up` makes it. Nothing was made")
        return [File(self.key.file, raw)]

    def _behind(self, snapshot: Snapshot, step: Step) -> tuple[Host, ...]:
        """Hosts of a step without the stack's key, or where a script was cut short before the daemons had read it. One that
        no script has come to, and that has it, has read it when it started."""
        (file,) = self.files(snapshot, step.name)
        by_host = snapshot.host_files(step.hosts, file.name)
        seen = {host: files.get(file.name) for host, files in by_host.items()}
        return tuple(
            host for host in step.hosts if (has := seen.get(host.name)) is None or has.digest != file.digest or has.cut
        )
