"""The three forms of a hand-off: a folder with an install.sh a role, a playbook (:mod:`.ansible`), cloud-init user data."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any, Final

import yaml

from slinky_iac import names
from slinky_iac.commands.handoff import ansible
from slinky_iac.commands.handoff.common import words
from slinky_iac.commands.handoff.model import (
    SLURM_FOLDER,
    Handoff,
    KeyPlace,
    Placed,
    Rendered,
    Role,
    Sheet,
    key_files,
    rendered,
)
from slinky_iac.commands.host_shell import TRUSTED
from slinky_iac.specs.trial import script

INSTALL: Final = Path(__file__).with_name("install.sh")
TRY: Final = Path(__file__).with_name("try.sh")
LIMIT: Final = 16384
"""Bytes of user data that clouds take at the least (EC2)."""
Keys = Mapping[str, bytes]
"""Raw bytes by the key's file name."""


def render(form: str, handed: Handoff, keys: Keys | None) -> tuple[Rendered, ...]:
    """All files of a form of :data:`FORMS`. ``keys``: None for none of them."""
    how, files = FORMS[form]
    readme = rendered("README.md", overview(handed, how, with_keys=keys is not None))
    return (readme, rendered("network.md", handed.network), *files(handed, keys))


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

No key is in here. A host without them gets them first, by the commands below (`HOST` is that host), each file byte for
byte, mode 600, owned by slurm; or render with `--with-keys`. A command replaces no file, and writes none where its source
has no key. Slurm takes the raw bytes: nothing is decoded, and a line break at the end counts. The check compares
fingerprints.
"""


def sheet_page(sheet: Sheet, *, level: int = 1) -> str:
    """One role's part."""
    mark = "#" * level
    lines = [f"{mark} {sheet.role}\n"]
    if sheet.hosts:
        hosts = (host.name if host.name == host.address else f"{host.name} ({host.address})" for host in sheet.hosts)
        lines.append(f"Hosts: {', '.join(hosts)}.\n")
    lines += ["| Place | Owner | Mode | |", "|---|---|---|---|"]
    lines += [f"| `{file.path}` | {file.owner} | {file.mode:o} | |" for file in sheet.files]
    lines += [
        f"| `{k.path}` | {k.owner} | {k.mode:o} | key, {k.fingerprint or 'fingerprint not known yet'} |" for k in sheet.keys
    ]
    lines.append("")
    for key in sheet.keys:
        lines += _placing(key)
    for file in sheet.files:
        if file.yields:
            lines += [f"`{file.path}`, or your own file with these units in it:\n", f"```\n{file.text}```\n"]
    if sheet.edits:
        lines += [f"`{sheet.edits}` must hold, besides what else is yours:\n", f"```\n{sheet.wanted}```\n"]
    lines += ["Open (TCP):\n", "| From | Port | For |", "|---|---|---|"]
    lines += [f"| {port.source} | {port.port or 'any'} | {port.purpose} |" for port in sheet.ports]
    lines.append("")
    if sheet.host_lines:
        lines.append("Names that must have an address on the host, in DNS or /etc/hosts:\n")
        lines.append(_bullets(f"`{line.address or 'ADDRESS'} {' '.join(line.names)}`" for line in sheet.host_lines))
    lines.append(_bullets(sheet.notes))
    lines.append(f"Check, on the host, as root: `{sheet.check_path}`.\n")
    return "\n".join(lines)


def _placing(key: KeyPlace) -> Iterator[str]:
    """How a key comes to a host of the role, and that it doesn't come to the one that has it."""
    if key.holder and key.name == names.JWT_KEY_FILE:
        yield (
            f"jwt_key= of slurm.conf on {key.holder} may name another path of {key.name}, and so may slurmdbd.conf"
            " on its host: in the commands below, write each host's own.\n"
        )
    if key.source:
        compare = f"`openssl dgst -sha256 -binary {key.path} | base64`, without the = at its end"
        yield f"{key.source} has {key.name}: don't place it there. Compare: {compare}.\n"
    if key.fetch:
        yield f"Place {key.name}{' on the others' if key.source else ''}: `{key.fetch}`\n"


def _bullets(texts: Iterable[str]) -> str:
    return "".join(f"- {text}\n" for text in texts)


_FOLDER: Final = """\
Copy a role's folder to the host and run its `install.sh` there, as root. It puts files in their places, starts the daemon
where systemd runs, and ends with the check; run again, it changes nothing.
"""


def _folder(handed: Handoff, keys: Keys | None) -> Iterator[Rendered]:
    """A folder for each role, with its files as they lie on the host."""
    for sheet in handed.sheets:
        yield rendered(f"{sheet.role}/README.md", sheet_page(sheet))
        yield rendered(f"{sheet.role}/install.sh", install_script(sheet, handed.cluster), 0o755)
        for file in sheet.files:
            yield rendered(f"{sheet.role}/files/{file.below}", file.text, file.mode)
        if sheet.role is Role.SLURMCTLD:
            yield rendered(f"{sheet.role}/try.sh", try_script(sheet), 0o755)
        if sheet.edits:
            yield rendered(f"{sheet.role}/{sheet.edits.rsplit('/', 1)[1]}.lines", sheet.wanted)
        yield from key_files(sheet, keys, str(sheet.role))


def install_script(sheet: Sheet, cluster: str) -> str:
    """install.sh of a role: idempotent, and it never edits a file that is the admin's without being told to."""
    calls: list[tuple[str, ...]] = [
        ("put_beside" if file.yields else "put", file.below, f"{file.mode:o}", file.owner) for file in sheet.files
    ]
    calls += [("hosts_line", line.address, " ".join(line.names)) for line in sheet.host_lines if line.address]
    return _Shell(INSTALL.read_text()).substitute(
        role=sheet.role,
        cluster=cluster,
        trusted=TRUSTED,
        slurm=SLURM_FOLDER,
        unfinished="" if sheet.edits else f"{SLURM_FOLDER}/.slinky-iac-{sheet.role}",
        conf=sheet.edits or "",
        restarts="|".join(sheet.restarts) or "-",
        service=sheet.service,
        keys="\n".join(words(("key", k.name, k.path, k.owner, f"{k.mode:o}", k.advice)) for k in sheet.keys),
        puts="\n".join(map(words, calls)),
        last=f'edit {sheet.edits} "$@"' if sheet.edits else f"start {sheet.service}",
        check=sheet.check_path,
    )


def try_script(sheet: Sheet) -> str:
    """try.sh of slurmctld's host: slurmctld's own verdict on slurm.conf with the lines of the hand-off."""
    return _Shell(TRY.read_text()).substitute(trial=script(), slurm=SLURM_FOLDER, check=sheet.check_path)


class _Shell(Template):
    """A shell script with ``@name`` where a value goes: shellcheck reads it as it is."""

    delimiter = "@"


_CLOUD_INIT: Final = """\
Give a role's `<role>.yaml` to the machine as its user data. Slurm's packages come from the machine's image, or add them
under `packages:`. What a file of the admin's own must hold (slurm.conf, slurmdbd.conf) is not edited: the check tells.
"""


def _cloud_init(handed: Handoff, keys: Keys | None) -> Iterator[Rendered]:
    """A file for each role, for machines that a cloud or a hypervisor makes."""
    for sheet in handed.sheets:
        yield rendered(f"{sheet.role}.yaml", user_data(sheet, handed, keys), 0o644 if keys is None else 0o600)


def user_data(sheet: Sheet, handed: Handoff, keys: Keys | None) -> str:
    """The user data of one role."""
    files = [_text_entry(file, sheet) for file in sheet.files if not file.yields]  # an image may have its own
    if keys is not None:
        encoded = {key: base64.b64encode(keys[key.name]).decode() for key in sheet.keys}
        files += [_entry(key, encoding="b64", content=text) for key, text in encoded.items()]
    lines = [f"{line.address} {' '.join(line.names)}\n" for line in sheet.host_lines if line.address]
    if lines:
        files.append({"path": "/etc/hosts", "append": True, "content": "".join(lines), "defer": True})
    check = ["sh", "-c", f"{sheet.check_path} || true"]
    start = [["systemctl", "daemon-reload"], *(["systemctl", act, sheet.service] for act in ("enable", "restart"))]
    data: dict[str, Any] = {"write_files": files, "runcmd": [check] if sheet.edits else [*start, check]}
    text = yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=4096, allow_unicode=True)
    return f"#cloud-config\n{_comment(sheet, handed, with_keys=keys is not None)}{text}"


def _text_entry(placed: Placed, sheet: Sheet) -> dict[str, Any]:
    """A file's entry. The check, which is most of all that is said here, is packed: clouds take little user data."""
    if placed.path != sheet.check_path:
        return _entry(placed, content=placed.text)
    packed = gzip.compress(placed.text.encode(), mtime=0)
    return _entry(placed, encoding="gz+b64", content=base64.b64encode(packed).decode())


def _entry(placed: Placed | KeyPlace, **what: str) -> dict[str, Any]:
    """A file of `write_files`. Deferred: Slurm's packages make user slurm and their own files first."""
    place = {"path": placed.path, "owner": f"{placed.owner}:{placed.owner}", "permissions": f"{placed.mode:04o}"}
    return {**place, **what, "defer": True}


def _comment(sheet: Sheet, handed: Handoff, *, with_keys: bool) -> str:
    lines = [f"{sheet.role} of the Slurm cluster {handed.cluster}. Made by `slinky handoff`."]
    if with_keys and sheet.keys:
        lines.append("HOLDS KEYS: clouds show user data to anyone who may read the machine's metadata.")
    elif sheet.keys:
        lines.append("No key is in here. Bake it into the image, or place it and start the daemon when the machine is up:")
        lines += [f"  {key.fetch}" for key in sheet.keys if key.fetch]
        lines += [] if sheet.edits else [f"  ssh root@HOST systemctl restart {sheet.service}"]
    return "".join(f"# {line}\n" for line in lines)


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, so that people can read them."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)

FORMS: Final[Mapping[str, tuple[str, Callable[[Handoff, Keys | None], Iterator[Rendered]]]]] = {
    "folder": (_FOLDER, _folder),
    "ansible": (ansible.HOW, ansible.files),
    "cloud-init": (_CLOUD_INIT, _cloud_init),
}
"""The paragraph of each in README.md, and its files."""
