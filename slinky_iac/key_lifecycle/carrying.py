"""What a run that replaces a key acts with, and the step it takes next: alike for the three ways to replace one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import RotationError
from slinky_iac.key_lifecycle import scripts
from slinky_iac.key_lifecycle.engine import Engine
from slinky_iac.key_lifecycle.hosts import Via, hosts_of
from slinky_iac.key_lifecycle.look import AT_ONCE, Look, opened
from slinky_iac.key_lifecycle.material import Material
from slinky_iac.key_lifecycle.model import START, Host, Rotation, Step, Turn
from slinky_iac.kube.wire import Clock


@dataclass(frozen=True)
class Means:
    """Pulumi, the way to outside hosts (None: none), and where to say what is done."""

    engine: Engine
    say: Callable[[str], None]
    via: Via | None = None
    backups: tuple[str, ...] = ()
    """Hosts of backup slurmctlds, which no configuration names."""
    folder: str = scripts.FOLDER
    """Slurm's folder on outside hosts."""
    clock: Clock = field(default_factory=Clock)

    def hosts(self, config: StackConfig) -> tuple[Host, ...]:
        """All outside hosts that hold a key, in the order in which they are changed."""
        return hosts_of(config, self.backups)

    @contextmanager
    def look(self, found: Material) -> Iterator[Look]:
        """A look at the cluster, with connections that are closed at the end."""
        with opened(found, self.hosts(found.config), self.via, self.folder) as look:
            yield look

    def place(
        self, hosts: Iterable[Host], script: Callable[[Host], str], files: Sequence[scripts.File], *, advice: str
    ) -> None:
        """Run ``script`` of each host on it, one after the other, and see that it has just these ``files`` then.

        Raises :class:`RotationError` with ``advice`` where it hasn't; the hosts after that one are left alone.
        """
        via = self.via
        assert via is not None
        for host in hosts:
            self.say(f"  {host.name} ({', '.join(host.roles)})")
            said = scripts.told(via.script(host, script(host)))
            has = {name: seen.digest for name, seen in said.items()}
            if wrong := [file.name for file in files if has.get(file.name) != file.digest]:
                raise RotationError(f"host {host.name}: {', '.join(wrong)} isn't what was sent. {advice}")

    def behind(self, hosts: Sequence[Host], file: scripts.File) -> tuple[Host, ...]:
        """Those of ``hosts`` that don't have ``file``, or where a script was cut short before the daemons had read it.

        One that no script has come to, and that has it, has read it when it started. Raises :class:`RotationError` where a
        host can't be asked; none of them can where there is no ``via``, and none is behind then.
        """
        via = self.via
        if via is None or not hosts:
            return ()
        text = scripts.look([file.name], folder=self.folder)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = pool.map(lambda host: scripts.told(via.script(host, text)).get(file.name), hosts)
            return tuple(
                host
                for host, seen in zip(hosts, found, strict=True)
                if seen is None or seen.digest != file.digest or seen.cut
            )

    def swap(self, name: str, values: Mapping[str, bytes]) -> None:
        """``nameNext`` becomes ``name``, and that ``namePrevious``; at every cut both keys and a plan that goes on are left.

        ``values``: the configuration's keys by name. Nothing happens where none is coming.
        """
        coming = values.get(f"{name}Next")
        if coming is None:
            return
        if values[name] != coming:
            self.engine.set_key(f"{name}Previous", values[name])
            self.engine.set_key(name, coming)
        self.engine.remove(f"{name}Next")


def next_step(plan: Rotation, done: str | None, *, start: bool, via: Via | None) -> Step | None:
    """The step that a run does next; None where it ends: nothing is due, nobody said ``start``, or hosts can't be reached.

    ``done``: the step that it did last. Raises :class:`RotationError` where that one is due again.
    """
    step = plan.due
    if step is None or (step.name == START and (done is not None or not start)):
        return None
    if step.turn is Turn.HOSTS and via is None:
        return None
    if step.name == done:
        raise RotationError(f"step {done} was done and doesn't show: {'; '.join(plan.notes)}. Run this again")
    return step
