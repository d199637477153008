"""Folders of the user's own that take the place of a part of the lab: slurm-operator, Pulumi's language host.

An environment variable carries the folder to everything that the lab starts; `lab env` prints it, and the lab that was begun
with it keeps it until `lab down`.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.errors import LabError


@dataclass(frozen=True)
class Given:
    """One such folder."""

    variable: str
    note: str
    """File under STATE that holds the folder's name while the lab is up."""
    needed: tuple[str, ...]
    way: str
    """What the folder must be, and how it is made: the end of the sentence that refuses another one."""

    def folder(self, named: str) -> Path | None:
        """The folder of that name, None for no name. Raises LabError where it lacks something."""
        if not named:
            return None
        folder = Path(named)
        missing = [name for name in self.needed if not (folder / name).is_file()]
        if folder.is_absolute() and not missing:
            return folder
        lacks = f"has no {', '.join(missing)}" if missing else "is not an absolute path"
        raise LabError(f"{self.variable}={named}: the folder {lacks}. It must {self.way}. Nothing was started")

    def take(self, folder: str | None) -> None:
        """Make `folder` this lab's; without one, that with which it was begun. Raises LabError where it lacks something."""
        named = self.named() if folder is None else str(Path(folder).resolve())
        if self.folder(named):
            os.environ[self.variable] = named
            (paths.STATE / self.note).parent.mkdir(parents=True, exist_ok=True)
            (paths.STATE / self.note).write_text(named)

    def exported(self) -> dict[str, str]:
        """What `lab env` prints of it."""
        named = self.named()
        return {self.variable: named} if named else {}

    def named(self) -> str:
        """The folder that the environment names, or that this lab was begun with; ``""`` where neither does."""
        note = paths.STATE / self.note
        return os.environ.get(self.variable) or (note.read_text() if note.is_file() else "")
