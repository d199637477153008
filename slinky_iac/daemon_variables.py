"""Variables of the containers of Slinky's daemons: which ones a stack may give, which ones are the program's or the
operator's own, and which ones none may have. One table. Pure.

slurmctld, slurmdbd and slurmrestd have the cluster's keys and run nothing of users', so they have the variables of a list
alone: what libraries read leads them elsewhere by more names than a list can name (``MARIADB_PLUGIN_DIR``,
``MARIADB_TLS_DISABLE_PEER_VERIFICATION``, ``LUA_CPATH``, ``HTTPS_PROXY``). In pods of jobs and logins, which run what users
bring, a variable that no daemon and no shell reads is as good as any.

Sources: ld.so(8), bash(1), krb5.conf(5) (``KRB5_CONFIG``: the file names plugins), ldap.conf(5), lua(1), slurmrestd(8) and
``_parse_env`` of ``slurmrestd.c`` (``SLURMRESTD_DEBUG``; a level that it doesn't know ends it), dbus-daemon(1), NCCL's
"Environment Variables" (``NCCL_NET_PLUGIN``); slurm-operator ``internal/builder`` (``workerContainer``, ``loginContainer``,
``slurmrestdContainer``), start scripts of Slinky's images (``SLURMD_OPTIONS``, ``SACKD_OPTIONS``).

The policy pack has this text, too: it imports nothing of the program, so ``tests.policies.making`` writes it there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from posixpath import normpath
from typing import Final

WITH_KEYS: Final = frozenset({"Controller", "Accounting", "RestApi"})
"""Kinds of custom resources whose daemons run nothing of users'."""
OF_USERS: Final = frozenset({"NodeSet", "LoginSet"})
_ALL: Final = WITH_KEYS | OF_USERS


class Fault(Enum):
    """Why a daemon's container can't have a variable from a stack."""

    CODE = "programs may run other code by it, or ask other hosts"
    FOLDER = "users could put their code where it looks"
    OWN = "the operator, the image or this program sets it"
    UNLISTED = "it isn't on the list of this daemon, which has the cluster's keys"
    VALUE = "its value isn't one that this daemon takes"
    NAME = "it isn't a name of Kubernetes'"


@dataclass(frozen=True)
class Own:
    """A variable that is set already, and its value where this program writes it."""

    kinds: frozenset[str]
    written: re.Pattern[str] | None = None
    """None where the operator or the image sets it alone."""
    limit: str = ""
    """The limit of the same container of which it is made."""


_NUMBER: Final = re.compile(r"0|[1-9]\d{0,9}")
_WORKER: Final = frozenset({"NodeSet"})
OWN: Final[Mapping[str, Own]] = {
    "POD_CPUS": Own(_WORKER, _NUMBER, "cpu"),
    "POD_MEMORY": Own(_WORKER, _NUMBER, "memory"),
    # Of each release in all of them: else a newer operator would take a stack's own for the place of the pod.
    "POD_TOPOLOGY": Own(_WORKER),  # up to 1.2
    "SLINKY_TOPOLOGY": Own(_WORKER),  # from 1.3 on
    "SACKD_OPTIONS": Own(_ALL),
    "SLURMD_OPTIONS": Own(_ALL),
    "MALLOC_ARENA_MAX": Own(frozenset({"RestApi"}), re.compile("1")),
    "SLURM_CONF": Own(frozenset({"RestApi"}), re.compile(r"/etc/slinky-slurmctld/slurm\.conf")),
    "SLURM_CONF_SERVER": Own(OF_USERS, re.compile(r"[\w.:\[\]-]+:\d{1,5}(?:,[\w.:\[\]-]+:\d{1,5})*")),
    "SLURM_SACK_JWKS": Own(_WORKER, re.compile(r"/etc/slurm-jwks/slurm\.jwks")),
}
_LEVEL: Final = r"[0-9]|quiet|fatal|error|info|verbose|debug[2-5]?"
_LISTED: Final = (
    (WITH_KEYS, re.compile("TZ"), re.compile(r"(?!/)[A-Za-z0-9/_+-]{1,60}")),
    (WITH_KEYS, re.compile("LANG|LC_[A-Z]{1,20}"), re.compile(r"[A-Za-z0-9_.-]{1,30}")),
    (_ALL - {"RestApi"}, re.compile("MALLOC_ARENA_MAX"), re.compile(r"[1-9]\d{0,3}")),
    (frozenset({"RestApi"}), re.compile("SLURMRESTD_DEBUG(?:_STDERR|_SYSLOG)?"), re.compile(_LEVEL, re.IGNORECASE)),
    (_WORKER, re.compile("SLURMD_DEBUG"), re.compile(_LEVEL, re.IGNORECASE)),
    (frozenset({"RestApi"}), re.compile("SLURMRESTD_(?:JSON|YAML)"), re.compile("[a-z_,]{1,60}")),
)
"""What a stack may give: of kinds, a name and the values that do no harm."""
_CODE: Final = re.compile(
    r"LD_\w+|GLIBC_\w+|GCONV_PATH|SLURM\w*|SRUN_\w+|SBATCH_\w+|MUNGE\w*|SACK\w*|PATH|ENV|BASH_\w+|SHELLOPTS|BASHOPTS|PS4|IFS"
    r"|PROMPT_COMMAND|PYTHON\w*|PERL\w*|LUA_\w+|KUBERNETES_\w+|NSS_\w+|RES_OPTIONS|HOSTALIASES|LOCALDOMAIN|MALLOC_\w+"
    r"|OPENSSL_\w+|SSL_\w+|NODE_OPTIONS|JAVA_\w+|JDK_\w+|KRB5\w*|LDAP\w*|SSS\w*|DBUS_\w+"
    r"|(?=\w*?(?:PRELOAD|LIBRARY_PATH|MODULE_DIR|MODULE_PATH|INJECTION|_PLUGIN|_OPTIONS))\w++",
    re.IGNORECASE,
)
"""Variables by which a program that reads them loads code, or asks another host; a program that doesn't know a variable
doesn't read it."""
_LIBRARIES: Final = re.compile(r"LD_LIBRARY_PATH|(NCCL_(?:\w{1,40}_)?PLUGIN)")
"""Variables that name libraries, of which those of the image are right; of the second ones a bare name is, too: it is
looked for where the first one says."""
_BARE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,80}")
IMAGE_FOLDERS: Final = ("/usr", "/lib", "/lib64", "/opt")
"""Where an image, and what a vendor's device plugin mounts into it, has libraries; nothing that users write."""
_NAME: Final = re.compile(r"[!-<>-~][ -<>-~]*")
"""Names that Kubernetes takes: printable, without ``=`` (ValidateEnvVarName, 1.30 and newer)."""


def listed(kind: str) -> tuple[str, ...]:
    """Variables that a kind with keys may have, for a message."""
    own = ("SLURMRESTD_DEBUG", "SLURMRESTD_JSON", "SLURMRESTD_YAML") if kind == "RestApi" else ("MALLOC_ARENA_MAX",)
    return ("TZ", "LANG", "LC_*", *own)


def written_for(kind: str) -> tuple[str, ...]:
    """Variables that this program writes in the container of a kind's daemon, where its settings ask for them."""
    return tuple(name for name, own in OWN.items() if kind in own.kinds and own.written is not None)


def fault_of_variable(kind: str, name: str, value: str) -> Fault | None:
    """Why the container of a kind's daemon can't have a variable from a stack; None where it can. ``value`` is empty where
    it comes from elsewhere."""
    own = OWN.get(name)
    if own is not None and kind in own.kinds:
        return Fault.OWN
    for kinds, names, values in _LISTED:
        if kind in kinds and names.fullmatch(name):
            return None if values.fullmatch(value) else Fault.VALUE
    if (libraries := _LIBRARIES.fullmatch(name)) is not None:
        bare = libraries[1] is not None and _BARE.fullmatch(value) is not None
        of_image = bare or (value != "" and all(map(_is_of_image, value.split(":"))))
        return None if of_image else Fault.FOLDER
    if _CODE.fullmatch(name) is not None:
        return Fault.CODE
    if _NAME.fullmatch(name) is None:
        return Fault.NAME
    return Fault.UNLISTED if kind in WITH_KEYS else None


def is_written(kind: str, name: str, value: str) -> bool:
    """Whether a variable that is set already has a value that this program writes."""
    own = OWN.get(name)
    if own is None or kind not in own.kinds or own.written is None:
        return False
    return own.written.fullmatch(value) is not None


def may_begin(kind: str, prefix: str) -> Fault | None:
    """Why variables of a ConfigMap or Secret, whose names nothing knows, can't all begin like this; None where they can."""
    if kind in WITH_KEYS:
        return Fault.UNLISTED
    own = any(name.startswith(prefix) for name, variable in OWN.items() if kind in variable.kinds)
    code = any(_CODE.fullmatch(prefix + end) for end in _ENDS)
    return Fault.CODE if prefix and (own or code) else None


_ENDS: Final = ("X", "CONF")
"""What a key of a ConfigMap may be behind a prefix."""


def _is_of_image(folder: str) -> bool:
    place = normpath(folder)
    return folder.startswith("/") and any(place.startswith(f"{image_folder}/") for image_folder in IMAGE_FOLDERS)
