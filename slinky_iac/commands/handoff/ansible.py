"""The hand-off as an Ansible playbook without roles, its inventory and the files that it copies.

Only modules of ansible.builtin. Files are copied, not templated: nothing in them is Jinja's to read.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from slinky_iac.commands.handoff.common import JWT_KEY
from slinky_iac.commands.handoff.model import Handoff, KeyPlace, Placed, Rendered, Role, Sheet, key_files, rendered

HOW = """\
```
ansible-playbook -i inventory.yaml handoff.yaml --check --diff
ansible-playbook -i inventory.yaml handoff.yaml
```

It needs ansible-core 2.15 or newer and Python on the hosts, and becomes root there. The inventory has the hosts that the
stack's configuration names; add yours. Variables, by `-e` or in the inventory:

| Variable | Default | |
|---|---|---|
| `slurm_packages` | `[]` | packages to install first, by the distribution's names |
| `slurm_keys` | `keys` where they are rendered, else empty | folder here with the keys; empty: they are on the hosts |
| `slurm_jwt_key` | `/etc/slurm/jwt_hs256.key` | the place that `jwt_key=` of slurm.conf or slurmdbd.conf names |
| `slurm_edit_conf` | `false` | add missing lines to slurm.conf of slurmctld and to slurmdbd.conf |
"""
Task = dict[str, Any]
_JWT_PATH = "slurm_jwt_key"
_SYSTEMD = "ansible_facts['service_mgr'] == 'systemd'"


def files(handed: Handoff, keys: Mapping[str, bytes] | None) -> Iterator[Rendered]:
    """Inventory, playbook and what it copies. ``keys``: raw bytes by the key's file name, or None for none of them."""
    yield rendered("inventory.yaml", _yaml(inventory(handed)))
    yield rendered("handoff.yaml", _yaml([play(sheet, handed, with_keys=keys is not None) for sheet in handed.sheets]))
    placed: dict[str, Rendered] = {}
    for sheet in handed.sheets:
        for file in sheet.files:
            yield rendered(f"files/{sheet.role}/{file.below}", file.text, file.mode)
        placed |= {str(file.path): file for file in key_files(sheet, keys, ".")}
    yield from placed.values()


def group(role: Role, handed: Handoff) -> str:
    """Name of a role's group: its own, unless a host is called so. Ansible would take the one for the other, give its
    address to all of the group, and leave the others out of the play."""
    taken = {host.name for sheet in handed.sheets for host in sheet.hosts}
    name = str(role)
    while name in taken:
        name += "_hosts"
    return name


def inventory(handed: Handoff) -> dict[str, Any]:
    """Groups by role, with the hosts that the configuration names."""
    return {
        group(sheet.role, handed): {
            "hosts": {host.name: {"ansible_host": host.address} if host.address != host.name else {} for host in sheet.hosts}
        }
        for sheet in handed.sheets
    }


def play(sheet: Sheet, handed: Handoff, *, with_keys: bool) -> dict[str, Any]:
    """The play of one role."""
    notify = [] if sheet.edits else [f"Restart {sheet.service}"]
    paths = [*(file.path for file in sheet.files), *(key.path for key in sheet.keys)]
    packages = {"name": "{{ slurm_packages }}", "state": "present"}
    folder = {"path": "{{ item }}", "state": "directory", "owner": "root", "group": "root", "mode": "0755"}
    tasks: list[Task] = [
        _task("Install packages", "package", packages, when="slurm_packages | length > 0"),
        _task("Make folders", "file", folder, loop=sorted({path.rsplit("/", 1)[0] for path in paths})),
        # Keys before files: where one is lacking the play ends, and what it had placed would never be followed by a restart.
        *(task for key in sheet.keys for task in _key(key, notify)),
        *(_file(file, sheet) for file in sheet.files),
        *(_hosts_line(line.address, " ".join(line.names)) for line in sheet.host_lines if line.address),
        *(_edit(sheet, sheet.edits) if sheet.edits else _service(sheet)),
        _check(sheet),
    ]
    variables: dict[str, Any] = {
        "slurm_packages": [],
        "slurm_keys": "{{ playbook_dir }}/keys" if with_keys else "",
        "slurm_edit_conf": False,
    }
    if any(key.path == JWT_KEY for key in sheet.keys):
        variables[_JWT_PATH] = JWT_KEY
    return {
        "name": f"Hosts of {handed.cluster} that are {sheet.role}",
        "hosts": group(sheet.role, handed),
        "become": True,
        "gather_facts": True,
        "gather_subset": ["!all", "min"],
        "vars": variables,
        "tasks": tasks,
        "handlers": [_handler(sheet)],
    }


def _task(name: str, module: str, arguments: str | Mapping[str, Any], **more: object) -> Task:
    return {"name": name, f"ansible.builtin.{module}": arguments, **more}


def _file(file: Placed, sheet: Sheet) -> Task:
    restart = [] if sheet.edits or file.path == sheet.check_path else [f"Restart {sheet.service}"]
    task = _copy(f"Place {file.path}", f"files/{sheet.role}/{file.below}", file.path, file.owner, file.mode, restart)
    if file.yields:  # its check says what the file that is there lacks
        task["ansible.builtin.copy"]["force"] = False
    return task


def _copy(name: str, src: str, dest: str, owner: str, mode: int, notify: list[str]) -> Task:
    copy = {"src": src, "dest": dest, "owner": owner, "group": owner, "mode": f"{mode:04o}"}
    return _task(name, "copy", copy, **({"notify": notify} if notify else {}))


def _key(key: KeyPlace, notify: list[str]) -> Iterator[Task]:
    """Copy where a key was given, then look whether what lies there is the cluster's. Its content is never logged."""
    path = f"{{{{ {_JWT_PATH} }}}}" if key.path == JWT_KEY else key.path
    copy = _copy(f"Place {key.name}", f"{{{{ slurm_keys }}}}/{key.name}", path, key.owner, key.mode, notify)
    yield copy | {"no_log": True, "diff": False, "when": "slurm_keys | length > 0"}
    variable = "slurm_handoff_key"
    yield _task(f"Look at {key.name}", "stat", {"path": path, "checksum_algorithm": "sha256"}, register=variable)
    # A dry run on a host that has no key yet would copy it only later.
    that = [f"{variable}.stat.exists or ansible_check_mode"]
    expected: Task = {}
    if key.fingerprint is not None:
        that.append(f"ansible_check_mode or {variable}.stat.checksum | default('') == slurm_handoff_expected")
        expected = {"vars": {"slurm_handoff_expected": _hex(key.fingerprint)}}
    fail = f"{path} is not there, or is not the cluster's. Place it first, as README.md says"
    if key.path == JWT_KEY:
        fail += f". Another path in jwt_key=: set {_JWT_PATH}"
    yield _task(f"Stop unless {key.name} is the cluster's", "assert", _must(that, fail), **expected)


def _must(that: list[str], fail: str) -> Task:
    return {"that": that, "fail_msg": fail, "quiet": True}


def _hex(fingerprint: str) -> str:
    """A fingerprint as Ansible's checksum has it."""
    text = fingerprint.removeprefix("SHA256:")
    return base64.b64decode(text + "=" * (-len(text) % 4)).hex()


def _hosts_line(address: str, names: str) -> Task:
    """A line of /etc/hosts, in the place of one with the same names and an older address, which would win."""
    edit: Task = {"path": "/etc/hosts", "regexp": rf"^[^#\s]+\s+{re.escape(names)}$", "line": f"{address} {names}"}
    # Written in place: /etc/hosts is a bind mount in containers, which can't be replaced.
    edit |= {"owner": "root", "group": "root", "mode": "0644", "create": True, "unsafe_writes": True}
    return _task("Name slurmctld and slurmdbd", "lineinfile", edit)


def _service(sheet: Sheet) -> Iterator[Task]:
    start = {"name": sheet.service, "enabled": True, "state": "started", "daemon_reload": True}
    yield _task(f"Start {sheet.service}", "systemd_service", start, when=_SYSTEMD)
    yield _task("Restart what has changed", "meta", "flush_handlers")


def _edit(sheet: Sheet, file: str) -> Iterator[Task]:
    lines, conf, asked = "slurm_handoff_missing", "slurm_handoff_conf", "slurm_edit_conf | bool"
    yield _task(f"Look at {file}", "stat", {"path": file}, register=conf)
    fail = f"{file} is a link: add the lines yourself, where it points, without slurm_edit_conf"
    is_file = _must([f"not ({conf}.stat.islnk | default(false))"], fail)
    yield _task(f"Stop where {file} is a link", "assert", is_file, when=asked)
    codes = {"changed_when": False, "failed_when": f"{lines}.rc not in [0, 1]", "when": "not ansible_check_mode"}
    yield _task(f"Look what {file} lacks", "command", {"cmd": f"{sheet.check_path} --missing"}, register=lines, **codes)
    edit = {"path": file, "line": "{{ item }}", "insertafter": "EOF", "backup": True}
    missing_lines, notify = f"{{{{ {lines}.stdout_lines | default([]) }}}}", [f"Let {sheet.service} read it"]
    yield _task(f"Add what {file} lacks", "lineinfile", edit, loop=missing_lines, when=asked, notify=notify)
    yield _task("Let it be read", "meta", "flush_handlers")
    if sheet.role is Role.SLURMCTLD and sheet.restarts:
        at_start = f"({lines}.stdout | default('')) is search('(?m)^(' ~ (slinky_at_start | join('|')) ~ ')=')"
        names = {"slinky_at_start": list(sheet.restarts)}
        said = (
            f"systemctl restart {sheet.service}: it reads some of the lines that were added at its start only; jobs run on"
        )
        yield _task("Say that it has to restart", "debug", {"msg": said}, vars=names, when=[asked, at_start])


def _handler(sheet: Sheet) -> Task:
    """What makes a change count: slurmctld reads slurm.conf again without a restart, all others are restarted."""
    if sheet.role is Role.SLURMCTLD:
        return _task(f"Let {sheet.service} read it", "command", {"cmd": "scontrol reconfigure"}, changed_when=True)
    name = f"Let {sheet.service} read it" if sheet.edits else f"Restart {sheet.service}"
    restart = {"name": sheet.service, "state": "restarted", "daemon_reload": True}
    return _task(name, "systemd_service", restart, when=_SYSTEMD)


def _check(sheet: Sheet) -> Task:
    """The host's own check. Without systemd no daemon was started, so it would find none."""
    variable, until = "slurm_handoff_check", {"until": "slurm_handoff_check.rc == 0", "retries": 1 if sheet.edits else 10}
    when = ["not ansible_check_mode"] if sheet.edits else ["not ansible_check_mode", _SYSTEMD]
    command = {"cmd": sheet.check_path}
    return _task("Run the check", "command", command, register=variable, changed_when=False, **until, delay=2, when=when)


def _yaml(data: object) -> str:
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, width=4096, explicit_start=True, allow_unicode=True)


class _Dumper(yaml.SafeDumper):
    """Lists are indented below their key, as ansible-lint wants it; a list that is used twice is written twice."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002
        return True
