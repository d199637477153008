"""The hand-off as a folder: one below it for each role, with its files as they lie on the host and an install.sh."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from string import Template

from slinky_iac.commands.handoff.common import words
from slinky_iac.commands.handoff.model import SLURM_FOLDER, Handoff, Rendered, Sheet, rendered
from slinky_iac.commands.handoff.pages import overview, sheet_page
from slinky_iac.commands.host_shell import TRUSTED

INSTALL = Path(__file__).with_name("install.sh")

_HOW = """\
Copy a role's folder to the host and run its `install.sh` there, as root. It puts files in their places, starts the daemon
where systemd runs, and ends with the check; run again, it changes nothing.
"""


def render(handed: Handoff, keys: Mapping[str, bytes] | None) -> tuple[Rendered, ...]:
    """All files of the folder. ``keys``: raw bytes by the key's file name, or None for none of them."""
    return tuple(_files(handed, keys))


def _files(handed: Handoff, keys: Mapping[str, bytes] | None) -> Iterator[Rendered]:
    yield rendered("README.md", overview(handed, _HOW, with_keys=keys is not None))
    yield rendered("network.md", handed.network)
    for sheet in handed.sheets:
        yield rendered(f"{sheet.role}/README.md", sheet_page(sheet))
        yield rendered(f"{sheet.role}/install.sh", install_script(sheet, handed.cluster), 0o755)
        for each in sheet.files:
            yield rendered(f"{sheet.role}/files/{each.below}", each.text, each.mode)
        if sheet.edits:
            yield rendered(f"{sheet.role}/{sheet.edits.rsplit('/', 1)[1]}.lines", sheet.wanted)
        yield from key_files(sheet, keys, str(sheet.role))


def key_files(sheet: Sheet, keys: Mapping[str, bytes] | None, below: str) -> Iterator[Rendered]:
    """The keys of a sheet as files that only their owner may read."""
    if keys is not None:
        yield from (Rendered(PurePosixPath(f"{below}/keys/{key.name}"), keys[key.name], 0o600) for key in sheet.keys)


def install_script(sheet: Sheet, cluster: str) -> str:
    """install.sh of a role: idempotent, and it never edits a file that is the admin's without being told to."""
    calls: list[tuple[str, ...]] = [
        ("put_beside" if each.yields else "put", each.below, f"{each.mode:o}", each.owner) for each in sheet.files
    ]
    calls += [("hosts_line", line.address, " ".join(line.names)) for line in sheet.host_lines if line.address]
    return _Shell(INSTALL.read_text()).substitute(
        role=sheet.role,
        cluster=cluster,
        trusted=TRUSTED,
        slurm=SLURM_FOLDER,
        unfinished="" if sheet.edits else f"{SLURM_FOLDER}/.slinky-iac-{sheet.role}",
        keys="\n".join(words(("key", k.name, k.path, k.owner, f"{k.mode:o}", k.advice)) for k in sheet.keys),
        puts="\n".join(map(words, calls)),
        last=f'edit {sheet.edits} "$@"' if sheet.edits else f"start {sheet.service}",
        check=sheet.check_path,
    )


class _Shell(Template):
    """A shell script with ``@name`` where a value goes: shellcheck reads it as it is."""

    delimiter = "@"
