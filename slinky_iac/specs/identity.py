"""Users of `identity.passwd` in Slurm's pods: a ConfigMap, and a sidecar that lays it under the image's own entries.

A file that is mounted by ``subPath`` never changes in a running pod, and a folder can't be mounted over /etc. So a sidecar
of the daemon's own image joins the image's passwd and group with those of the ConfigMap, in a volume of the pod, and the
daemon's container mounts the two files read-only. The sidecar writes later changes into the same files, so a bind mount
shows them, and no pod restarts.

A reader may read while the sidecar writes. The files are written in pages of 4096 bytes, no entry of ours goes over the
end of a page (empty lines fill it; glibc skips them), and the image's entries never change: a reader finds each entry
as it was or as it is.

Sources: Kubernetes, "Volumes" (subPath) and "Sidecar Containers"; glibc, nss/nss_files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from slinky_iac import names
from slinky_iac.config.identity import Passwd
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.specs.shared import Spec, locked, memory, mount, requests, shell_sidecar

SIDECAR: Final = "users"
FILES: Final = {"users": "passwd", "groups": "group"}
"""Entries of the ConfigMap, and the files that they become. An entry called passwd would look like a password's."""
PAGE: Final = 4096
_FROM: Final = "/identity"
_TO: Final = "/users"
_GIVEN: Final = "slurm-users-given"
_JOINED: Final = "slurm-users"
_SCRIPT: Final = f"""\
umask 022
from={_FROM} to={_TO}
put() {{
  size=$(wc -c < "/etc/$1")
  {{
    cat "/etc/$1"
    head -c "$(({PAGE} - size % {PAGE}))" /dev/zero | tr '\\0' '\\n'
    cat "$from/$1"
  }} > "$to/.$1"
  if [ -e "$to/$1" ]; then
    dd if="$to/.$1" of="$to/$1" bs={PAGE} conv=notrunc 2>/dev/null
    truncate -s "$(wc -c < "$to/.$1")" "$to/$1"
  else
    mv "$to/.$1" "$to/$1"
  fi
}}
differ() {{
  wrong=1
  while IFS=: read -r name _ number _; do
    ours=$(grep -m 1 "^$name:" "$from/$1" | cut -d : -f 3)
    other=$(grep -m 1 "^[^:]*:[^:]*:$number:" "$from/$1" | cut -d : -f 1)
    if [ "${{ours:-$number}}" != "$number" ] || [ "${{other:-$name}}" != "$name" ]; then
      echo "identity.passwd: this image's /etc/$1 has $name with $number, and the stack's file ${{other:-$name}} with" \\
        "${{ours:-$number}}. Nothing of the stack's was taken. Give both the same name and number" >&2
      wrong=0
    fi
  done < "/etc/$1"
  return "$wrong"
}}
trap 'exit 0' TERM INT
has=
while :; do
  now=$(cat "$from/group" "$from/passwd" | sha256sum)
  if [ "$now" != "$has" ]; then
    has=$now
    if differ passwd || differ group; then
      [ -e "$to/passwd" ] || exit 1
    else
      put group
      put passwd
      echo "identity.passwd: $(grep -c . "$from/passwd") users"
    fi
  fi
  sleep 5 &
  wait "$!"
done
"""


def passwd_files(given: Passwd) -> dict[str, str]:
    """Entries of the ConfigMap, in the order of their numbers: who comes later goes below who is there. `*` lets no one in
    by a password, and asks for no entry in shadow, which the image doesn't have (passwd(5), pam_unix(8))."""
    users = sorted(given.users.items(), key=lambda pair: pair[1].uid)
    passwd = [f"{name}:*:{user.uid}:{user.gid}::{user.home or f'/home/{name}'}:{user.shell}" for name, user in users]
    return {"users": _paged(passwd), "groups": _paged(_group_lines(given))}


def _group_lines(given: Passwd) -> Iterator[str]:
    """A group with more members than a page holds has several lines, which glibc reads as one group's (getgrouplist)."""
    groups = {gid: name for name, gid in given.groups.items()}
    for name, user in given.users.items():
        groups.setdefault(user.gid, f"gid-{user.gid}" if name in given.groups else name)
    members: dict[str, list[str]] = {}
    for name, user in sorted(given.users.items(), key=lambda pair: pair[1].uid):
        for group in dict.fromkeys(user.groups):
            members.setdefault(group, []).append(name)
    for gid, group in sorted(groups.items()):
        line = start = f"{group}:*:{gid}:"
        for name in members.get(group, ()):
            if len(line) + len(name) + 2 > PAGE:
                yield line
                line = start
            line += name if line == start else f",{name}"
        yield line


def _paged(lines: Iterable[str]) -> str:
    """The lines, with empty ones between them where one would go over the end of a page."""
    text, used = [], 0
    for line in lines:
        need = len(line) + 1
        if used + need > PAGE:
            text.append("\n" * (PAGE - used))
            used = 0
        text.append(f"{line}\n")
        used = (used + need) % PAGE
    return "".join(text)


def users_pod(config: ClusterConfig, image: str) -> Spec:
    """What the pod of a daemon needs of `identity`, as fields of a PodSpec; nothing where the stack has no such section."""
    if config.identity.passwd is None:
        return {}
    source = {
        "name": names.users(config.cluster.resource_name),
        "items": [{"key": key, "path": file} for key, file in FILES.items()],
    }
    return {
        "initContainers": [_sidecar(config, image)],
        "volumes": [
            {"name": _GIVEN, "configMap": source},
            memory(_JOINED, "8Mi"),
        ],
    }


def users_mounts(config: ClusterConfig) -> list[Spec]:
    """Mounts of the daemon's container."""
    if config.identity.passwd is None:
        return []
    return [mount(_JOINED, f"/etc/{file}", file) for file in FILES.values()]


def _sidecar(config: ClusterConfig, image: str) -> Spec:
    return shell_sidecar(
        config,
        name=SIDECAR,
        image=image,
        script=_SCRIPT,
        ready=("/bin/sh", "-c", f"[ -s {_TO}/passwd ]"),
        resources=requests("10m", "16Mi", "64Mi"),
        security=locked(names.SLINKY_UID),
        mounts=(mount(_GIVEN, _FROM), mount(_JOINED, _TO, read_only=False)),
    )
