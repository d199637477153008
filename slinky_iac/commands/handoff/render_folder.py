"""The hand-off as a folder: one below it for each role, with its files as they lie on the host and an install.sh."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from string import Template

from slinky_iac.commands.handoff.common import words
from slinky_iac.commands.handoff.model import FROM_HERE, SLURM_FOLDER, Handoff, Rendered, Sheet, rendered
from slinky_iac.commands.host_shell import TRUSTED


def overview(handed: Handoff, how: str, *, with_keys: bool) -> str:
    """The page that a hand-off begins with. ``how``: the form's own paragraph, in Markdown."""
    sections = [
        f"# Hosts of {handed.cluster} outside Kubernetes\n",
        f"Slurm {handed.release}. Made by `slinky handoff`; render it again after a NodeSet, a partition or a"
        " host is added.\n",
        how,
    ]
    if handed.open_points:
        sections += ["## Not known yet\n", _bullets(handed.open_points)]
    sections.append(_WITH_KEYS if with_keys else _WITHOUT_KEYS)
    sections += [sheet_page(sheet, level=2) for sheet in handed.sheets]
    sections.append("Routes between pods and hosts: [network.md](network.md).\n")
    return "\n".join(sections)


_WITH_KEYS = """\
## Keys

**This folder holds the cluster's keys.** Anyone who has them can act as any user and any daemon: carry it as you would
carry a root password, and remove it when the hosts have joined.
"""
_WITHOUT_KEYS = """\
## Keys

No key is in here. Place them first, by the commands below (where `HOST` is the new host), each file byte for byte, mode
600, owned by slurm; or render with `--with-keys`. Slurm takes the raw bytes: nothing is decoded, and a line break at the
end counts. The check compares fingerprints.
"""


def sheet_page(sheet: Sheet, *, level: int = 1) -> str:
    """One role's part."""
    mark = "#" * level
    lines = [f"{mark} {sheet.role}\n"]
    if sheet.hosts:
        lines.append("Hosts: " + ", ".join(_host(each.name, each.address) for each in sheet.hosts) + ".\n")
    lines += ["| Place | Owner | Mode | |", "|---|---|---|---|"]
    lines += [f"| `{each.path}` | {each.owner} | {each.mode:o} | |" for each in sheet.files]
    lines += [
        f"| `{k.path}` | {k.owner} | {k.mode:o} | key, {k.fingerprint or 'fingerprint not known yet'} |" for k in sheet.keys
    ]
    lines.append("")
    lines += [
        f"Place {key.name}: `{key.fetch}`\n" if key.fetch else f"Leave {key.name} as it is: {FROM_HERE}.\n"
        for key in sheet.keys
    ]
    for each in sheet.files:
        if each.yields:
            lines += [f"`{each.path}`, or your own file with these units in it:\n", f"```\n{each.text}```\n"]
    if sheet.edits:
        lines += [f"`{sheet.edits}` must hold, besides what else is yours:\n", f"```\n{sheet.wanted}```\n"]
    lines += ["Open (TCP):\n", "| From | Port | For |", "|---|---|---|"]
    lines += [f"| {each.source} | {each.port or 'any'} | {each.purpose} |" for each in sheet.ports]
    lines.append("")
    if sheet.host_lines:
        lines.append("Names that must have an address on the host, in DNS or /etc/hosts:\n")
        lines.append(_bullets(f"`{each.address or 'ADDRESS'} {' '.join(each.names)}`" for each in sheet.host_lines))
    lines.append(_bullets(sheet.notes))
    lines.append(f"Check, on the host, as root: `{sheet.check_path}`.\n")
    return "\n".join(lines)


def _host(name: str, address: str) -> str:
    return name if name == address else f"{name} ({address})"


def _bullets(texts: Iterable[str]) -> str:
    return "".join(f"- {text}\n" for text in texts)


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
