"""After slurmctld has read its new configuration: hosts with other CPUs or GRES go back to work. And after its end."""

from __future__ import annotations

from slinky_iac.drain import conf_held, conf_run
from slinky_iac.drain.conf_held import Held
from slinky_iac.drain.conf_lines import ConfSettings
from slinky_iac.drain.session import Session
from slinky_iac.errors import DrainBlocked, DrainDeadline, SlurmrestGarbage, SlurmrestRefused, SlurmrestUnreachable


def settle(session: Session, settings: ConfSettings) -> None:
    """Return hosts that stay, once slurmctld has begun with the new lines; forget what has left slurm.conf.

    Raises DrainDeadline where slurmctld doesn't begin with them in the time that a node has to register, and DrainBlocked
    where it doesn't say: the hosts stay drained, and the next update returns them.
    """
    held = conf_held.read(session, settings.controller)
    hosts = tuple(host for host in held.hosts if host in settings.lines.hosts)
    if hosts:
        _await_read(session, settings, held, hosts)
        conf_run.restore(session, settings, Held(hosts=hosts), conf_run.look(session, settings))
    partitions = {name: state for name, state in held.partitions.items() if name in settings.lines.partitions}
    if held:
        conf_held.write(session, settings.controller, Held(partitions))


def forget(session: Session, settings: ConfSettings) -> None:
    """slurmctld is gone, and with it what was closed and drained: leave nothing of that in a namespace that stays."""
    if not settings.outside and conf_held.read(session, settings.controller):
        conf_held.write(session, settings.controller, Held())


def _await_read(session: Session, settings: ConfSettings, held: Held, hosts: tuple[str, ...]) -> None:
    shown = ", ".join(hosts)
    later = f"{shown} stay(s) drained, and `pulumi up` returns them: run it again"
    deadline = session.now() + settings.policy.register_deadline_s
    while True:
        why = ""
        try:
            began = session.slurm.slurmctld_began()
        except (SlurmrestUnreachable, SlurmrestGarbage, SlurmrestRefused) as error:
            began, why = held.began, f": {error}"
        if began is None:
            raise DrainBlocked(
                f"{settings.owner.text}: slurmctld before 26.05 doesn't tell when it read its configuration. {later} once"
                f" `scontrol show node {hosts[0]}` shows the new line"
            )
        if began != held.began:
            return
        if session.now() >= deadline:
            limit = settings.policy.register_deadline_s
            raise DrainDeadline(
                f"{settings.owner.text}: slurmctld has not read its new configuration in {limit} s{why}. {later}, after a"
                " look at slurmctld's pod"
            )
        session.report(f"waiting for slurmctld to read its new configuration, then {shown} go(es) back to work")
        if session.pause(settings.policy.poll_s) or not session.engine_lives():
            raise DrainBlocked(f"{settings.owner.text}: interrupted. {later}")
