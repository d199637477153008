"""The hand-off as cloud-init user data: one file a role, for machines that a cloud or a hypervisor makes."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from slinky_iac.commands.handoff.model import Handoff, KeyPlace, Placed, Rendered, Sheet, rendered
from slinky_iac.commands.handoff.render_folder import overview

_HOW = """\
Give a role's `<role>.yaml` to the machine as its user data. Slurm's packages come from the machine's image, or add them
under `packages:`. What a file of the admin's own must hold (slurm.conf, slurmdbd.conf) is not edited: the check tells.
"""
LIMIT = 16384
"""Bytes of user data that clouds take at the least (EC2)."""


def render(handed: Handoff, keys: Mapping[str, bytes] | None) -> tuple[Rendered, ...]:
    """All files. ``keys``: raw bytes by the key's file name, or None for none of them."""
    return tuple(_files(handed, keys))


def _files(handed: Handoff, keys: Mapping[str, bytes] | None) -> Iterator[Rendered]:
    yield rendered("README.md", overview(handed, _HOW, with_keys=keys is not None))
    yield rendered("network.md", handed.network)
    for sheet in handed.sheets:
        text = user_data(sheet, handed, keys)
        yield rendered(f"{sheet.role}.yaml", text, 0o644 if keys is None else 0o600)


def user_data(sheet: Sheet, handed: Handoff, keys: Mapping[str, bytes] | None) -> str:
    """The user data of one role."""
    files = [_text_entry(each, sheet) for each in sheet.files if not each.yields]  # an image may have its own
    if keys is not None:
        encoded = {key: base64.b64encode(keys[key.name]).decode() for key in sheet.keys}
        files += [_entry(key, encoding="b64", content=text) for key, text in encoded.items()]
    lines = [f"{line.address} {' '.join(line.names)}\n" for line in sheet.host_lines if line.address]
    if lines:
        files.append({"path": "/etc/hosts", "append": True, "content": "".join(lines), "defer": True})
    data: dict[str, Any] = {"write_files": files, "runcmd": _commands(sheet)}
    return f"#cloud-config\n{_comment(sheet, handed, with_keys=keys is not None)}" + yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, width=4096, allow_unicode=True
    )


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


def _commands(sheet: Sheet) -> list[list[str]]:
    check = ["sh", "-c", f"{sheet.check_path} || true"]
    if sheet.edits:
        return [check]
    reload = ["systemctl", "daemon-reload"]
    return [reload, ["systemctl", "enable", sheet.service], ["systemctl", "restart", sheet.service], check]


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
