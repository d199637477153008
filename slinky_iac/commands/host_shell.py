"""Shell for scripts that run on hosts, and the reading of what one prints on slurmctld's host. Pure.

Root runs some of them in Slurm's folder, where somebody else may be at work. A user who may write into that folder (on many
sites /etc/slurm is SlurmUser's) can lay a link in the place of any file that root is about to make there. A random name
doesn't help: it shows as soon as the file is made. So such a folder is refused, and one with an ACL too. Files are
finished in a folder that is root's alone, within the one where they go, and renamed to their place: no link is followed, of
an earlier time or of somebody whom no look at modes and ACLs finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

TRUSTED: Final = Path(__file__).with_name("trusted.sh").read_text()
"""Two functions, ``trusted`` and ``enter``, for bash and POSIX shells that have ``local`` (dash, busybox)."""
MARK: Final = "part() { printf '== %s\\n' \"$1\"; }\n"
"""For a script: `part NAME` begins a part of the answer."""
CONFIG: Final = """\
PATH="$PATH:/usr/sbin:/sbin:/opt/slurm/bin:/usr/local/bin"
conf=$(scontrol show config) || exit 3
value() { printf '%s\\n' "$conf" | sed -n "s/^$1[[:space:]]*= *//p" | head -n 1; }
file=$(value SLURM_CONF)
folder=$(dirname "${file:-/etc/slurm/slurm.conf}")
jwt=$(value AuthAltParameters | tr ',' '\\n' | sed -n 's/^jwt_key=//p' | head -n 1)
case ",$(value AuthAltParameters)" in
    *,jwks=* | *,jwt_key=*) ;;
    *) jwt=$(value StateSaveLocation)/jwt_hs256.key ;;
esac
part config; printf '%s\\n' "$conf"
"""
"""For a script: prints the running configuration, and knows the folder of slurm.conf and the JWT key's file, by the rule of
:mod:`slinky_iac.parts.tokens.judged`."""
NODES: Final = """\
part nodes; { nodes=$(scontrol -o show node 2>/dev/null) || nodes=-; printf '%s\\n' "$nodes"; } | awk '
/^-$/ { print } /^NodeName=/ { line = ""; for (i = 1; i <= NF; i++)
if ($i ~ /^(NodeName|AvailableFeatures|State)=./) line = line $i " "; print line }'
"""
"""For a script: names, features and states of all nodes, `-` where slurmctld doesn't tell. Read by
:func:`slinky_iac.config.slurm.node_records.recorded`."""
_PART: Final = re.compile(r"^== ([a-z.-]+)$")
_LINE: Final = re.compile(r"^([A-Za-z_]+(?:\[\d+\])?)\s*=\s?(.*)$")
_NULL: Final = frozenset({"", "(null)", "n/a"})


def parts(answer: str) -> dict[str, list[str]]:
    """Lines of the answer by part; all of it is the configuration where it has no parts."""
    lines_by_part: dict[str, list[str]] = {}
    now = lines_by_part.setdefault("config", [])
    for line in answer.splitlines():
        if mark := _PART.match(line):
            now = lines_by_part.setdefault(mark[1], [])
        elif line.strip():
            now.append(line.strip())
    return lines_by_part


def settings(lines: Iterable[str]) -> dict[str, str]:
    """Parameters of `scontrol show config`."""
    return {match[1]: match[2] for match in map(_LINE.match, lines) if match}


def clusters(lines: Iterable[str]) -> int:
    """Of how many clusters an output of `scontrol show config` is: with several, of each parameter the last would count."""
    return sum(match[1] == "ClusterName" for match in map(_LINE.match, lines) if match)


def known(config: Mapping[str, str], key: str) -> str:
    """A parameter's value; empty where it has none."""
    text = config.get(key, "").strip()
    return "" if text.lower() in _NULL else text


def number(config: Mapping[str, str], key: str, otherwise: int) -> int:
    """A number; SlurmctldPort may be a range, of which the first counts."""
    text = known(config, key).partition("-")[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise
