"""What a change of slurm.conf took, given back: at once where no file without it can still be read, else once slurmctld
has read the file that has it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from slinky_iac.cluster.partition_closing import Held
from slinky_iac.drain.closed import Record
from slinky_iac.drain.conf_steps import ConfSettings
from slinky_iac.drain.conf_text import ConfLines, otherwise, read_lines
from slinky_iac.drain.driver import Task, drive
from slinky_iac.drain.losses import Change
from slinky_iac.drain.observe import conf_look, partition_states
from slinky_iac.drain.protocol import Done, Step, Stop, Wait
from slinky_iac.drain.session import Session
from slinky_iac.errors import SlurmrestGarbage, SlurmrestRefused, SlurmrestUnreachable


@dataclass(frozen=True)
class ReadLook:
    """What slurmctld shows of the file that it has read."""

    began: int | None
    """When it last began with one; None: before Slurm 26.05 it doesn't say."""
    otherwise: tuple[str, ...] = ()
    """What it shows that this program's lines don't say, or doesn't show and they say."""
    problem: str = ""
    """Why it gave no answer; ``began`` is then as before the change."""


class ReadTask(Task[ReadLook]):
    """Wait until slurmctld has begun with its new configuration: a start alone may be one on the file before."""

    settings: ConfSettings
    doing = "waiting for slurmctld to read its configuration"

    def __init__(self, session: Session, settings: ConfSettings, back: Held) -> None:
        super().__init__(session, settings)
        self.back = back
        """What goes back to work then."""
        self.shown = ", ".join([*(f"partition {name}" for name in sorted(back.partitions)), *sorted(back.hosts)])

    def look(self) -> ReadLook:
        """Ask when it began, then what it has; a slurmctld that is starting doesn't answer."""
        Record(self.session, self.settings).keep()
        client = self.session.slurm
        try:
            began = client.slurmctld_began()
            hosts = client.hosts() if self.back.hosts and began is not None else {}
            states = partition_states(client) if self.back.partitions else {}
        except (SlurmrestUnreachable, SlurmrestGarbage, SlurmrestRefused) as error:
            return ReadLook(self.back.began, problem=str(error))
        lines = self.settings.lines.hosts
        unlike = (otherwise(lines[name], hosts[name]) if name in hosts else f"no node {name}" for name in self.back.hosts)
        missing = (f"no partition {name}" for name in self.back.partitions if name not in states)
        return ReadLook(began, tuple(problem for problem in (*unlike, *missing) if problem))

    def decide(self, seen: ReadLook) -> Step:
        if seen.began is None:
            return Stop(
                f"slurmctld before 26.05 doesn't tell when it read its configuration. {self.stays()} once `scontrol show"
                f" node {next(iter(self.back.hosts), '')}` shows the new line",
                "blocked",
            )
        if seen.began != self.back.began and not seen.otherwise:
            return Done()
        if self.session.now() >= self.deadline_at:
            limit = self.policy.register_deadline_s
            shown = f"slurmctld shows {'; '.join(seen.otherwise[:4])}" if seen.otherwise else ""
            why = f": {reason}" if (reason := seen.problem or shown) else ""
            return Stop(
                f"slurmctld has not read its new configuration in {limit} s{why}. {self.stays()}, after a look at"
                f" slurmctld's pod. `{self.settings.by_hand} scontrol reconfigure` makes slurmctld read the file that its"
                " pod has; that helps where two changes within a minute left it as it was",
                "deadline",
            )
        return Wait(f"waiting for slurmctld to read its new configuration, then {self.shown} go(es) back to work")

    def ended(self, _seen: ReadLook) -> str:
        return "slurmctld has read its new configuration"

    def stays(self) -> str:
        how = "closed or drained" if self.back.partitions else "drained"
        return f"{self.shown} stay(s) {how}, and `pulumi up` returns them: run it again"


def give_back(record: Record, settings: ConfSettings, live: ConfLines, going: Change) -> None:
    """Open partitions and return hosts that an earlier run took and that stay now; forget those that slurmctld has lost.

    What the ``live`` Controller has not, or slurmctld may have yet to read, is given back once it has read the new file
    (:func:`return_hosts`): a file without it may still be read, and would end the jobs that came.
    """
    held = record.held()
    if not held:
        return
    news, text = settings.lines, read_lines(settings.text)
    later = {*text.partitions} if held.began is not None else text.partitions.keys() - live.partitions.keys()
    opens = {name for name in held.partitions if name in news.partitions} - {*going.partitions} - later
    stay = news.hosts.keys() & live.hosts.keys() - {*going.hosts} if held.began is None else set[str]()
    seen = conf_look(record.session, settings)
    record.restore(held.of(opens, stay), seen.partitions)
    left = held.partitions.keys() - opens & {*seen.partitions, *going.partitions}
    record.hold(replace(held.of(left, held.hosts.keys() - stay & {*seen.cluster.nodes, *going.hosts}), began=held.began))


def return_hosts(record: Record, settings: ConfSettings) -> None:
    """Give back what stays after all, once slurmctld has begun with the new lines. What has left slurm.conf stays in the
    record until slurmctld has lost it: it may be wanted again before.

    Raises DrainDeadline where slurmctld doesn't begin with them in the time that a node has to register, and DrainBlocked
    where it doesn't say: all stays closed and drained, and the next update gives it back.
    """
    held = record.held()
    text = read_lines(settings.text)
    back = held.of(text.partitions if held.began is not None else (), settings.lines.hosts)
    if back:
        drive(ReadTask(record.session, settings, replace(back, began=held.began)))
        record.restore(back, partition_states(record.session.slurm) if back.partitions else {})
    if held:
        record.hold(held.of(held.partitions.keys() - back.partitions.keys(), held.hosts.keys() - back.hosts.keys()))
