"""The fields of one resource against those of its kind, each with its path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from slurm_rules.cluster import entry
from slurm_rules.made import KINDS, MADE, Asked, Judging, Path_, images_in, known_below, like_any
from slurm_rules.model import UNKNOWN, Hidden, Resource, hidden_paths
from slurm_rules.mounts import believes, folder_fault
from slurm_rules.rule import Options
from slurm_rules.slurm_files import conf_faults, file_faults, node_faults, sssd_faults
from slurm_rules.values import VALUED, check_of, fault_of, made_so, may_lead
from slurm_rules.world import World

_SKIPPED: Final = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
"""What says which resource it is."""
_BY_KEY: Final = ("note", "own-note", "offer")
"""Checks of a name that have no opinion of its value."""
_FOREIGN: Final = "isn't made by this program"
_OWN_FILES: Final = {
    "-token-jwks": ("jwks.json",),
    "-users": ("users", "groups"),
    "-dashboard": ("slinky-iac.json",),
    "-watched": ("watched.json",),
    "-client-conf": ("slurm.conf",),
}
"""Files of the program's own ConfigMaps, by the end of their names."""
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Fields:
    """One resource whose fields are judged as those of ``kind``, a key of ``made.json``."""

    kind: str
    resource: Resource
    judging: Judging
    options: Options

    def judge(self) -> None:
        """Note every field and every value that the program doesn't make."""
        for field in self.resource.props:
            self._part((str(field),), (str(field),))

    def _part(self, path: Path_, place: Place) -> None:
        check = check_of(self.kind, path)
        shown = ".".join(map(str, place))
        if path in _SKIPPED or check in ("free", "together"):
            self._one_line(place, shown)
            return
        if check == "sealed":
            self._sealed(place, shown)
        elif check in _BY_KEY:
            self._checked(check, path, self.resource.peek(*place) if path[-1] in VALUED else None, shown)
        elif not self._is_sealed(path):
            self._value(check, path, place, shown)

    def _one_line(self, place: Place, shown: str) -> None:
        """The operator writes a spec's words into daemons' files as they are: after a line break comes a line of its own."""
        value = self.resource.peek(*place)
        if self.resource.is_slinky and isinstance(value, str) and not value.isprintable():
            self.judging.add(shown, "has a line break or another control character")

    def _is_sealed(self, path: Path_) -> bool:
        """Whether a part is hidden as a whole, and may hold whatever it does."""
        whole = len(path) == 1 and isinstance(self.resource.props.get(path[0]), Hidden)
        return whole and check_of(self.kind, (*path, "")) in ("free", "sealed")

    def _value(self, check: str | None, path: Path_, place: Place, shown: str) -> None:
        value = self.resource.peek(*place)
        if isinstance(value, Hidden):
            self._hidden(path, shown, value)
        elif check is not None:
            hidden = next(hidden_paths(value, shown), None)
            if hidden is None:
                self._checked(check, path, value, shown)
            else:
                self.judging.hidden.append(hidden)
        elif isinstance(value, Mapping) and value and self._leads(path):
            for key in value:
                self._part((*path, str(key)), (*place, str(key)))
        elif isinstance(value, list | tuple) and value and self._leads(path):
            for index in range(len(value)):
                self._part((*path, "[]"), (*place, index))
        elif value is not None:
            self._leaf(path, value, shown)

    def _leads(self, path: Path_) -> bool:
        """Whether the program has fields below a path."""
        known = known_below(self.kind, path)
        return may_lead(self.kind, path) or (known is not None and any(known))

    def _known(self, path: Path_) -> list[Any]:
        known = known_below(self.kind, path)
        return list(known.get("", ())) if known else []

    def _hidden(self, path: Path_, shown: str, value: Hidden) -> None:
        if check_of(self.kind, path) or self._known(path) or self._leads(path):
            self.judging.hidden.append((shown, value))
        else:
            self.judging.add(shown, _FOREIGN)

    def _leaf(self, path: Path_, value: object, shown: str) -> None:
        known = self._known(path)
        if value in ("", {}, []) and (known or self._leads(path)):
            return
        if not made_so(self.kind, path, value, self.judging):
            made = " or ".join(map(short, known[:4]))
            self.judging.add(shown, f"is {short(value)}; the program writes {made}" if known else _FOREIGN)

    def _checked(self, check: str, path: Path_, value: object, shown: str) -> None:
        judging = self.judging
        if made_so(self.kind, path, value, judging):
            judging.images.extend(images_in(value, shown))
            folder = value.get("hostPath") if isinstance(value, Mapping) else None
            if isinstance(folder, Mapping) and (fault := folder_fault(folder.get("path"), self.options)):
                judging.add(f"{shown}.hostPath", fault)
        elif check == "unit":
            name = value.get("name") if isinstance(value, Mapping) else None
            judging.add(shown, f"{f'({name}) ' if name else ''}isn't as this program makes it")
        elif check in ("slurm.conf", "slurmdbd.conf"):
            judging.add_all(
                shown, conf_faults(str(value), check, judging.world, self.options["hosts"], believes(self.resource))
            )
        elif check == "sssd":
            judging.add_all(shown, sssd_faults(str(value)))
        elif check in ("node", "partition"):
            judging.add_all(shown, node_faults(str(value), check))
        elif check == "file":
            self._file(path[-1], str(value), shown)
        else:
            before = len(judging.images)
            if fault := fault_of(check, Asked(value, path[-1], judging, self.options, self.kind, self.resource)):
                judging.add(shown, fault)
            judging.images[before:] = [(f"{shown}.{where}".rstrip("."), image) for where, image in judging.images[before:]]

    def _file(self, file: str, text: str, shown: str) -> None:
        name, world = self.resource.in_cluster_name, self.judging.world
        own = name not in world.files and (like_any(text, MADE["texts"].get(file, ()), world) or _is_own(name, file, world))
        self.judging.add_all(shown, file_faults(file, text, list(self.options["tokenKeys"]), world, own=own))

    def _sealed(self, place: Place, shown: str) -> None:
        """An entry of a Secret: other rules judge keys; here sssd.conf, by which daemons learn who is who."""
        key = str(place[-1])
        name, world = self.resource.in_cluster_name, self.judging.world
        read = key.endswith("sssd.conf") or (name, key) in world.sssd
        raw = entry(self.resource, key) if read else None
        own = named_as_made(self.kind, name, world)
        if isinstance(raw, bytes):
            self.judging.add_all(shown, sssd_faults(raw.decode("utf-8", "replace")))
        elif not own and (isinstance(raw, Hidden) or {(name, ""), ("", key), ("", "")} & world.sssd):
            self.judging.hidden.append((shown, UNKNOWN))


def _is_own(name: str, file: str, world: World) -> bool:
    return any(name == f"{base}{end}" and file in files for base in world.bases for end, files in _OWN_FILES.items())


def named_as_made(kind: str, name: str, world: World) -> bool:
    """Whether the program makes an object of a kind with this name."""
    return kind in KINDS and like_any(name, KINDS[kind]["names"], world)


def short(value: object, most: int = 60) -> str:
    """A value as a message shows it."""
    text = repr(value)
    return text if len(text) < most else f"{text[: most - 3]}..."
