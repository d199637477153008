"""A ledger of what was run or measured: one JSON line each, with the commit and the code that it was of.

What runs writes to a file in CACHE, so that it changes no file of the checkout; :meth:`Ledger.keep` moves lines into the
repository. Pages are made from what the repository has: docs/adr/0026-a-ledger-of-runs.md.
"""

from __future__ import annotations

import json
import platform
import subprocess
import types
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, get_args, get_origin, get_type_hints

from lab import paths
from tests.covers import covered, digest

EVIDENCE: Final = paths.REPO / "docs" / "evidence"
LATEST: Final = 3
"""How many lines of the same the repository keeps; what they replace is in git. A file there has 1 MB at most."""


class LedgerRefused(ValueError):
    """A ledger that can't be read; the message names the line and what to do."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """When and of what a line is."""

    at: str
    """When it ended, UTC, ISO 8601."""
    commit: str
    dirty: bool
    """Files differed from the commit."""
    code: str
    """Digest of the files that it covers (tests.covers)."""
    python: str


Line = TypeVar("Line", bound=Origin)


def origin(module: Path) -> dict[str, Any]:
    """The fields of :class:`Origin` of what ends now; ``module``: what ran, from the root."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": head(),
        "dirty": bool(_git("status", "--porcelain")),
        "code": digest(covered(module)),
        "python": platform.python_version(),
    }


def is_current(module: str, line: Origin | None) -> bool:
    """Whether a line is of the code as it is."""
    there = (paths.REPO / module).exists()
    return line is not None and there and line.code == digest(covered(Path(module)))


def said(line: Origin) -> str:
    """When and at which commit, for a page."""
    return f"{line.at[:16].replace('T', ' ')} | {line.commit[:8]}{', changed' if line.dirty else ''}"


@dataclass(frozen=True)
class Ledger(Generic[Line]):
    """One file of lines of one kind."""

    file: str
    line: type[Line]
    noun: str
    same: Callable[[Line], Hashable]
    """What of several lines that are kept together the newest stands for."""

    @property
    def kept(self) -> Path:
        """The repository's."""
        return EVIDENCE / self.file

    @property
    def recorded(self) -> Path:
        """This machine's."""
        return paths.CACHE / self.file

    def read(self, file: Path) -> list[Line]:
        """Lines in their order; none where there is no file. Raises LedgerRefused for one that is none of this kind."""
        if not file.exists():
            return []
        texts = enumerate(file.read_text().splitlines(), 1)
        return [self._read(file, number, text) for number, text in texts if text.strip()]

    def _read(self, file: Path, number: int, text: str) -> Line:
        try:
            found: dict[str, Any] = json.loads(text)
            hints = get_type_hints(self.line)
            wrong = [name for name, hint in hints.items() if not _fits(found[name], hint)]
            if not wrong:
                return self.line(**found)
        except (ValueError, TypeError, KeyError) as error:
            wrong = [str(error)]
        raise LedgerRefused(
            f"{file}, line {number}: isn't {self.noun} ({', '.join(wrong)}). Nothing was changed. Remove the line, or"
            f" restore it with `git checkout -- {self.kept.relative_to(paths.REPO)}`"
        )

    def append(self, file: Path, lines: Iterable[Line]) -> None:
        """Add lines at the end, in one write."""
        text = _text(lines)
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as opened:
            opened.write(text)

    def known(self) -> list[Line]:
        """Lines of the repository and of this machine, oldest first."""
        return sorted((*self.read(self.kept), *self.read(self.recorded)), key=lambda each: each.at)

    def keep(self) -> int:
        """Move the machine's lines of commits of this history into the repository, of the same the newest; returns how
        many. Of the same, the repository then has the latest."""
        recorded = self.read(self.recorded)
        before = self.read(self.kept)  # refused before anything is written
        moved = list(_of_this_history(recorded))
        newest = list({self.same(each): each for each in reversed(moved)}.values())[::-1]  # in the order of the last run
        stay = latest([*before, *newest], self.same)
        self.kept.write_text(_text(stay))
        self.recorded.unlink(missing_ok=True)
        self.append(self.recorded, [each for each in recorded if each not in moved])
        return len(newest)


def latest(lines: Sequence[Line], same: Callable[[Line], Hashable]) -> list[Line]:
    """The last of the lines of each kind, in their order."""
    seen: Counter[Hashable] = Counter()
    found = []
    for each in reversed(lines):
        seen[same(each)] += 1
        if seen[same(each)] <= LATEST:
            found.append(each)
    return found[::-1]


def _text(lines: Iterable[Origin]) -> str:
    return "".join(json.dumps(asdict(each)) + "\n" for each in lines)


def _fits(value: object, hint: Any) -> bool:
    if get_origin(hint) is types.UnionType:
        return any(_fits(value, each) for each in get_args(hint))
    kind = get_origin(hint) or hint
    return type(value) in ((int, float) if kind is float else (kind,))


def head() -> str:
    """The commit that is checked out."""
    return _git("rev-parse", "HEAD")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=paths.REPO, check=True, capture_output=True, text=True).stdout.strip()


def _of_this_history(lines: Iterable[Line]) -> Iterator[Line]:
    commits: dict[str, bool] = {}
    for each in lines:
        if each.commit not in commits:
            asked = ["git", "merge-base", "--is-ancestor", each.commit, "HEAD"]
            commits[each.commit] = subprocess.run(asked, cwd=paths.REPO, check=False, capture_output=True).returncode == 0
        if commits[each.commit]:
            yield each
