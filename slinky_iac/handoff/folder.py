"""The hand-off as a folder: one below it for each role, with its files as they lie on the host and an install.sh."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from slinky_iac.handoff.model import SLURM_FOLDER, Handoff, Rendered, Sheet, rendered
from slinky_iac.handoff.pages import overview, sheet_page
from slinky_iac.host_shell import TRUSTED

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
    keys = "".join(f"key {k.name} {k.path} {k.owner} {k.mode:o} {shlex.quote(k.fetch)}\n" for k in sheet.keys)
    puts = "".join(f"put {shlex.quote(f.below)} {f.mode:o} {f.owner}\n" for f in sheet.files)
    puts += "".join(
        f"hosts_line {shlex.quote(line.address)} {shlex.quote(' '.join(line.names))}\n"
        for line in sheet.host_lines
        if line.address
    )
    tail = (
        _EDIT.format(edits=sheet.edits, check=sheet.check_path)
        if sheet.edits
        else _START.format(service=sheet.service, check=sheet.check_path)
    )
    return _INSTALL.format(
        role=sheet.role,
        cluster=cluster,
        trusted=TRUSTED,
        slurm=SLURM_FOLDER,
        keys=keys,
        puts=puts,
        tail=tail,
        check=sheet.check_path,
    )


_INSTALL = """\
#!/bin/bash
# Make this host a {role} of the Slurm cluster {cluster}. Run it as root; it says what it does, and can be repeated.
# Made by `python -m slinky_iac handoff`.
set -euf
cd "$(dirname "$0")"
lacking=0
changed=0

{trusted}new=
trap 'rm -f "$new"' EXIT
fresh() {{ # TARGET: a new file beside it, whose name nobody could lay a link under
    new=$(mktemp "${{1%/*}}/.${{1##*/}}.XXXXXX")
}}
put() {{ # FILE MODE OWNER: a file of files/ goes to its place
    place "files/$1" "/$1" "$3" "$2"
}}
place() {{ # SOURCE TARGET OWNER MODE
    if cmp -s "$1" "$2" && [ "$(stat -c '%a %U' "$2")" = "$4 $3" ]; then
        echo "unchanged $2"
        return
    fi
    mkdir -p "${{2%/*}}"
    fresh "$2"
    install -T -o "$3" -g "$3" -m "$4" "$1" "$new"
    mv -fT "$new" "$2"
    changed=1
    echo "installed $2"
}}
key() {{ # NAME PLACE OWNER MODE COMMAND
    if [ -e "keys/$1" ]; then
        place "keys/$1" "$2" "$3" "$4"
    elif [ ! -s "$2" ]; then
        lacking=1
        echo "lacking   $2: place it first, for example by: $5" >&2
    fi
}}
hosts_line() {{ # ADDRESS NAMES: in /etc/hosts, once
    if grep -qxF "$1 $2" /etc/hosts; then
        echo "unchanged /etc/hosts: $1 $2"
    else # a line with the same names and an older address would win: it goes
        if kept=$(awk -v new="$2" '{{ old = $0; sub(/^[^#[:space:]]+[[:space:]]+/, "", old) }} old != new' /etc/hosts); then
            printf '%s\\n' "$kept" >/etc/hosts # in place: it may be a bind mount
        fi
        printf '%s %s\\n' "$1" "$2" >>/etc/hosts
        echo "added to /etc/hosts: $1 $2"
    fi
}}

mkdir -p {slurm}
if ! why=$(trusted {slurm}); then
    echo "$why. Nothing was placed and nothing started. Then run this again" >&2
    exit 1
fi
{keys}
if [ "$lacking" = 1 ]; then # before all else: what is placed now would count as unchanged then, and nothing be restarted
    echo "nothing else was placed and nothing started: run this again when the key is in its place" >&2
    exit 1
fi
{puts}
{tail}
{check} # no exec: the trap
"""
_START = """\
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl enable {service}
    if [ "$changed" = 1 ]; then systemctl restart {service}; else systemctl start {service}; fi
else
    echo "systemd does not run here: start {service} yourself, as ExecStart= of its unit says"
    exit 0
fi
for _ in 1 2 3 4 5 6 7 8 9 10; do # slurmctld hears of it within seconds
    if {check} >/dev/null; then break; fi
    sleep 2
done
"""
_EDIT = """\
if [ ! -e {edits} ]; then
    echo "there is no {edits}: set the daemon up first, this adds to its file" >&2
    exit 1
fi
if ! added=$({check} --missing) && [ -n "$added" ]; then
    if [ "${{1:-}}" != --edit ]; then
        printf 'these lines are missing in {edits}; add them, or run this with --edit:\\n%s\\n' "$added" >&2
        exit 1
    fi
    if [ -L {edits} ]; then
        echo "{edits} is a link to $(readlink {edits}): add the lines there yourself, then run this again" >&2
        printf '%s\\n' "$added"
        exit 1
    fi
    cp -pT --remove-destination {edits} {edits}.before-slinky-iac
    fresh {edits}
    cp -p {edits} "$new"
    if [ -n "$(tail -c 1 "$new")" ]; then echo >>"$new"; fi
    printf '# by slinky-iac handoff\\n%s\\n' "$added" >>"$new"
    mv -fT "$new" {edits}
    echo "added to {edits} (as it was: {edits}.before-slinky-iac):"
    printf '%s\\n' "$added"
    echo "next: scontrol reconfigure, or a restart where AuthType, CredType or a key changed; then {check}"
    exit 0
fi
"""
