"""README.md of a hand-off, for people: what goes where, which ports, how a key gets there. Never a key."""

from __future__ import annotations

from collections.abc import Iterable

from slinky_iac.commands.handoff.model import FROM_HERE, Handoff, Sheet


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
