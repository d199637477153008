"""Slurm's files in a stack, line by line: what they run, load, send away, and take from the operator.

The tables are the settings' own (``slinky_iac/config/slurm/reach.py``), in ``made.json``.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final
from urllib.parse import urlsplit

from slurm_rules.conf_lines import PLUGSTACK, file_lines
from slurm_rules.made import HARMLESS, MADE
from slurm_rules.scripts import script_faults
from slurm_rules.slurm_conf import Line, expand, lines, split_list
from slurm_rules.world import World

_URL: Final = re.compile(r'"(https?://[^"]{1,300})"')
_LOADS: Final = re.compile(HARMLESS["loads"], re.IGNORECASE)
"""Variables by which what runs in a job, or a daemon, loads another library or file. Source: ld.so(8), bash(1)."""
_KEYS_AT_ONCE: Final = 2
_TABLE: Final[Mapping[str, Any]] = MADE.get("conf", {})
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./%@:+=,*?-]+")
_USER_CLAIM: Final = re.compile(
    r"jwt_key=/etc/slurm/jwt(_hs256)?\.key|jwks=/etc/slurm/jwks\.json|disable_token_creation|max_token_lifespan=\d{1,9}|userclaimfield="
    rf"(?!(?:[\w.:/-]{{0,64}}[.:/])?(?i:{'|'.join(HARMLESS['selfService'])})$)[\w.:/-]{{1,64}}"
)
"""Claims that people write on their own profile page name no user. Source: OpenID Connect Core 1.0, 5.1 and 5.7."""
_STORAGE_TLS: Final = re.compile(r"SSL_(CA|CERT|KEY)=(/[\w./+-]{1,400})")
_ROOTS: Final = ("/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust")
_PURGE: Final = re.compile(r"(\d{1,6})(hours?|days?|months?)?", re.IGNORECASE)
_NUMBER: Final = re.compile(r"unlimited|infinite|(0|[1-9]\d{0,18})(k?)", re.IGNORECASE)
_SET: Final = re.compile(_TABLE.get("set", "(?!)"))
_COUNTED: Final = re.compile(_TABLE.get("counted", "(?!)()"))
_INCLUDED: Final = re.compile(_TABLE.get("included", "(?!)"))
_PATH: Final = re.compile(_TABLE.get("path", "(?!)"))
_ARGUMENTS: Final = re.compile(_TABLE.get("arguments", "(?!)"))
_KEYS_READ: Final = re.compile(_TABLE.get("keysRead", "(?!)"))
_SPANK: Final = re.compile(r"(required|optional)\s+(\S+)|include\s+(\S+)")


def below(path: str, folders: tuple[str, ...] | list[str]) -> bool:
    """Whether a path is one of these folders, or below."""
    return ".." not in path.split("/") and any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def conf_faults(
    text: str, which: str, world: World, hosts: Iterable[str] = (), given: Callable[[str], bool] = lambda _: False
) -> Iterator[str]:
    """What is wrong with the lines of slurm.conf or slurmdbd.conf that a stack adds to the operator's. ``hosts`` are the
    site's own, ``given`` says which files a ConfigMap or a Secret of the cluster's namespace has."""
    for line in lines(text):
        if which == "slurm.conf" and line.first in ("nodename", "partitionname", "nodeset"):
            yield from _of_line(line, "partition" if line.first == "partitionname" else "node")
            yield from _led_away(line, world, hosts)
            continue
        for name, value in line.pairs if which == "slurmdbd.conf" else line.pairs[:1]:
            yield from _storage(value, given) if name == "storageparameters" else _parameter(name, value, which, world)
        if len(line.pairs) > 1 and which == "slurm.conf" and " " in text and line.first not in _SEVERAL:
            yield from (fault for name, value in line.pairs[1:] for fault in _parameter(name, value, which, world))


_SEVERAL: Final = ("debugflags",)


def node_faults(text: str, which: str) -> Iterator[str]:
    """The same for the parameters of a node or of a partition."""
    for line in lines(text):
        yield from _of_line(line, which)
        if which == "node":
            yield from (f"{name} is the operator's" for name, _ in line.pairs if name in _TABLE["nodeOwned"])


_NAMES: Final = ("nodename", "nodeset", "partitionname")


def _of_line(line: Line, which: str) -> Iterator[str]:
    known = {*_TABLE[f"{which}Known"], "nodeset", "feature", "nodes"}
    for name, value in line.pairs:
        if name not in known:
            yield f"{name} isn't a parameter of a {which}"
        elif name == "gresconf" or (which == "node" and value.startswith("/") and not _is_device(value)):
            yield f"{name} names a file"
        elif name not in _NAMES:
            yield from _form(name, value, _TABLE[which].get(name, ["(?!)", "no row says which values are safe"]))


def _led_away(line: Line, world: World, hosts: Iterable[str]) -> Iterator[str]:
    """To where slurmctld sends a node's jobs, their scripts and their environments."""
    for name, value in line.pairs if line.first == "nodename" else ():
        for address in split_list(value) if name in ("nodeaddr", "nodehostname", "bcastaddr") else ():
            known = (world.near(host) or any(fnmatchcase(host, own) for own in hosts) for host in expand(address.lower()))
            if not all(known):
                yield f"{name} leads to {address[:60]}, which is neither a private address nor a host of this stack (hosts)"


def _storage(value: str, given: Callable[[str], bool]) -> Iterator[str]:
    """Whom slurmdbd believes as its database, and by what it proves itself."""
    for part in value.split(","):
        said = _STORAGE_TLS.fullmatch(part)
        if not said or not (given(said[2]) or (said[1] == "CA" and below(said[2], _ROOTS))):
            yield f"storageparameters has {part[:80]}, which is no file of the image, or of a ConfigMap or Secret of the pod"


def _parameter(name: str, value: str, which: str, world: World) -> Iterator[str]:
    dbd = which == "slurmdbd.conf"
    if name == "authaltparameters":
        if not all(_USER_CLAIM.fullmatch(part) for part in value.split(",")):
            yield f"{name} is {value}: the operator owns it, and users' names come from no claim that they edit"
    elif name in _TABLE["slurmdbdOwned" if dbd else "owned"]:
        yield f"{name} is the operator's"
    elif name not in _TABLE["slurmdbd" if dbd else "known"] and name not in ("maxnodecount",):
        yield f"{name} isn't a parameter that this release reads"
    elif name in _TABLE["elsewhere"]:
        yield f"{name} gives another host data, or its word"
    elif name in _TABLE["programs"]:
        program, *arguments = value.split(" ")
        sent = name in _TABLE["sent"] and program in world.scripts
        own = sent or all(below(part, _TABLE["programFolders"]) for part in program.split(":"))
        if not own or not _PLAIN.fullmatch(program) or not all(_ARGUMENTS.fullmatch(argument) for argument in arguments):
            yield f"{name} runs {value}, which isn't of the image ({', '.join(_TABLE['programFolders'])})"
    elif name in _TABLE["writes"]:
        if not below(value, _TABLE["writes"][name]):
            yield f"{name} writes to {value}"
    else:
        yield from _bounds(name, value, world)


def _bounds(name: str, value: str, world: World) -> Iterator[str]:
    if name.startswith("purge") or name in _TABLE["purges"]:
        match = _PURGE.match(value)
        hours = {"h": 1, "d": 24}.get((match[2] or "m")[0].lower(), 720) if match else 0
        if not match or int(match[1]) * hours < _TABLE["leastPurgedHours"]:
            yield f"{name} is {value}: records of less than a month go"
    elif name in _TABLE["least"]:
        least, never = _TABLE["least"][name]
        match = _NUMBER.fullmatch(value)
        number = int(match[1]) * (1024 if match[2] else 1) if match and match[1] else least
        if not match or (number < least and (number or not never)):
            yield f"{name} is {value}; jobs or their records are lost below {least}"
    elif name in _TABLE["free"]:
        yield from _form(name, value, (_TABLE["free"][name], "another form than this parameter has"))
    elif name in _TABLE["permitted"]:
        without = {} if world.cgroups else _TABLE["withoutCgroups"]
        if name in _TABLE["kept"] and _TABLE["kept"][name] not in value.split(","):
            yield f"{name} is {value[:60]}, without {_TABLE['kept'][name]}, which pods need"
        yield from _form(name, value, without.get(name) or _TABLE["permitted"][name])
    else:
        yield f"{name} has no values that are known to do no harm"


def _form(name: str, value: str, row: tuple[str, str]) -> Iterator[str]:
    """Whether each part between commas is of a form; Slurm passes over empty ones."""
    parts = list(filter(None, map(str.strip, value.split(",")))) or [""]
    if not all(re.fullmatch(row[0], part, re.IGNORECASE) for part in parts):
        yield f"{name} is {value[:60]}: {row[1]}"


def file_faults(name: str, text: str, token_keys: list[str], world: World, *, own: bool) -> Iterator[str]:
    """What is wrong with one file of a ConfigMap of the cluster; ``own``: the program makes a file of this name there."""
    if name in ACCOUNTS:
        yield from account_faults(name, text)
    yield from (f"has {word[0]}, a key or a token of the cluster" for word in _KEYS_READ.finditer("" if own else text))
    taken = name in _TABLE["taken"] or name.endswith(tuple(_TABLE["takenEndings"]))
    if own:
        if name == "jwks.json":
            yield from _key_set(text, token_keys)
        elif name == "watched.json":
            leads = ((url, urlsplit(url).hostname or "") for url in _URL.findall(text))
            yield from (f"leads to {url}" for url, host in leads if not world.reaches(host))
    elif taken:
        yield f"takes the place of the {name} that the operator or the program writes"
    elif name in MADE["texts"]:
        yield "isn't as this program writes it"
    elif name.endswith(".lua") or text.startswith("#!"):
        yield from script_faults(name, text)
    elif name == PLUGSTACK:
        yield from _libraries(text)
    elif name.endswith((".conf", ".yaml", ".yml")):
        yield from _lines(name, text)


def _lines(name: str, text: str) -> Iterator[str]:
    for _, line in file_lines(name, text):
        yield from (f"sets {option}, by which programs load other code" for option in _LOADS.findall(line))
        said = _COUNTED.sub(r"\1", _INCLUDED.sub("Include=", line))
        for key, value in _SET.findall(said):
            yield from _line(name, key, value.strip("\"'"))
        rest = _SET.sub("", said)
        if name in _TABLE and (rest.strip() if name.endswith(".conf") else "/" in rest or "\\" in line):
            yield f"has {line[:60]}, which isn't Key=Value, or `key: value` on one line"


def _libraries(text: str) -> Iterator[str]:
    for _, line in file_lines(PLUGSTACK, text):
        match = None if _LOADS.search(line) else _SPANK.match(line)
        if match is None or not _of_image(match[2] or _beside(match[3])):
            yield f"loads {line[:60]}, which isn't a library of the image"


def _beside(path: str) -> str:
    """What include names: without / at its beginning, it is beside plugstack.conf."""
    return path if path.startswith("/") else f"/etc/slurm/{path}"


def _is_device(path: str) -> bool:
    return path.startswith(tuple(_TABLE["devices"])) and ".." not in path


def _of_image(path: str) -> bool:
    return below(path, _TABLE["programFolders"]) or "/" not in path


def _line(file: str, key: str, value: str) -> Iterator[str]:
    low = key.lower()
    if "://" in value or value.startswith("//"):
        yield f"{key} leads to {value[:60]}"
    elif low.endswith("host") or low == "include":
        yield f"{key} of {file} names {value[:60]}"
    elif row := _TABLE.get(file, {}).get(low):
        yield from _form(key, value, row)
    elif low not in _TABLE["paths"].get(file, (low,)):
        yield f"{key} isn't a parameter of {file} of which a row says which values are safe"
    elif value.startswith("/"):
        runs = low.startswith(tuple(_TABLE["runKeys"])) or low.endswith(tuple(_TABLE["runKeys"]))
        inside = _TABLE["programFolders"] if runs else [*_TABLE["programFolders"], *_TABLE["writeFolders"]]
        for part in [value.split(maxsplit=1)[0]] if runs else map(str.strip, split_list(value)):
            device = not runs and _is_device(part)
            if not _PATH.fullmatch(part) or not (device or below(part.partition("[")[0], inside)):
                yield f"{key} names {part[:60]}, which isn't of the image, a device, or a place to write"
    if file in _TABLE["shells"] and low not in _TABLE["expressions"] and re.search(r"[;|&`$<>]", value):
        yield f"{key} of {file} runs a shell"


def _key_set(text: str, known: list[str]) -> Iterator[str]:
    """Keys whose name is made of themselves (RFC 7638), as this program's are; two at the most, in a rotation."""
    try:
        keys = json.loads(text)["keys"]
        named = [(str(key.get("kid")), _thumbprint(key)) for key in keys]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        yield "isn't a set of keys"
        return
    own = [kid for kid, print_ in named if kid == print_ and kid not in known]
    for kid, print_ in named:
        if kid != print_ and kid not in known:
            yield f"has the key {kid[:60]}, which isn't this program's; name it in tokenKeys if it is your provider's"
    if len(own) > _KEYS_AT_ONCE:
        yield f"has {len(own)} keys"


def _thumbprint(jwk: Mapping[str, Any]) -> str:
    needed = {name: jwk.get(name) for name in ("e", "kty", "n")}
    digest = hashlib.sha256(json.dumps(needed, sort_keys=True, separators=(",", ":")).encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


_OF_PERSON: Final = (
    *("ldap_user_name", "ldap_user_uid_number", "ldap_user_gid_number", "ldap_user_principal"),
    *("ldap_group_name", "ldap_group_gid_number", "ldap_group_member", "ldap_user_member_of"),
)


def sssd_faults(text: str) -> Iterator[str]:
    """What is wrong with an sssd.conf: a directory in plain text, one that isn't checked, or numbers of the system's."""
    said = [match.groups() for match in re.finditer(r"(?m)^[ \t]*+([A-Za-z_]\w{0,80}+)[ \t]*+=[ \t]*+(.{0,400})$", text)]
    tls = any(name == "ldap_id_use_start_tls" and value.strip().lower() == "true" for name, value in said)
    for name, raw in said:
        value = raw.strip().lower()
        if name.endswith("_uri") and value.startswith("ldap://") and not tls:
            yield f"{name} asks a directory in plain text"
        if name in _OF_PERSON and value in HARMLESS["selfService"]:
            yield f"{name} is {value}, which people write themselves: they choose whose name or number they have"
        for names, form, why in HARMLESS["sssd"]:
            yield from _form(name, value, (form, why)) if name in names.split("|") else ()


ACCOUNTS = frozenset({"users", "groups"})
"""Entries of a ConfigMap that daemons read as /etc/passwd and /etc/group. Source: passwd(5); login.defs(5) UID_MIN."""
_FIRST = 1000
_NOT_A_PERSON = (65534, 65535)


def account_faults(file: str, text: str) -> Iterator[str]:
    """Users and groups with numbers that are root's, SlurmUser's or a daemon's: a job runs with the number of its user."""
    for fields in (line.split(":") for line in text.splitlines() if line):
        numbers = fields[2 : 4 if file == "users" else 3]
        if not _of_system(file, fields, numbers) and (len(fields) < 4 or not all(map(_ordinary, numbers))):
            yield f"has a number that isn't a user's; give one above {_FIRST - 1}"
            return


def _of_system(file: str, fields: list[str], numbers: list[str]) -> bool:
    """Whether a line says of root or slurm what every image says; of a group, without a member."""
    if len(set(numbers)) != 1 or (file == "groups" and fields[3:] != [""]):
        return False
    number = numbers[0]
    slurm = fields[0] == "slurm" and number.isascii() and number.isdigit() and 0 < int(number) < _FIRST
    return slurm or (fields[0], number) == ("root", "0")


def _ordinary(text: str) -> bool:
    return text.isascii() and text.isdigit() and _FIRST <= int(text) < 2**31 and int(text) not in _NOT_A_PERSON
