"""Finding secrets in text, whatever they are wrapped in: base64 at any offset, hex in either case, line breaks.

Everything is searched in *views*: the text itself, without its white space, and what base64 and hex in it decode to, and
what base64 and hex in that decode to. What is encrypted, compressed or spelled otherwise isn't found.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from slurm_rules.model import everything

WINDOW = 24
"""So many bytes of a key in a row are no chance, and enough to be worth hiding."""
_STRIDE = 12
SHORTEST = 8
"""Shorter keys occur by chance."""
_DEPTH = 2
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{16,}")
_HEX = re.compile(rb"[0-9A-Fa-f]{16,}")
_BLANK = re.compile(rb"\s+|\\[nrt]")
_URL = bytes.maketrans(b"-_", b"+/")
_FORMS = (
    ("a JSON web token", rb"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    ("a private key", rb"-----BEGIN[A-Z ]*PRIVATE ?KEY|PuTTY-User-Key-File"),
    ("a private key", rb'"kty"\s*:\s*"oct"|"d"\s*:\s*"[A-Za-z0-9_-]{20,}"'),
    ("StoragePass", rb"(?im)^\s*(?:Accounting)?StoragePass\s*=\s*\S"),
    ("a directory's password", rb"(?im)^\s*(?:ldap_default_authtok|bindpw)\s*[= ]\s*\S"),
    ("a password in a URL", rb"(?i)\b[a-z][a-z0-9+.]*://[^\s/:@'\"]+:[^\s/@'\"$<{]+@"),
    ("a token of GitHub", rb"\bgh[opsur]_[A-Za-z0-9]{30,}"),
)
_COMPILED = tuple((what, re.compile(pattern)) for what, pattern in _FORMS)
_SECRET_WORD = r"pass(?:word|wd|phrase)?|pwd|key|token|secret|jwt|cred|authtok|bindpw"
_NAME = re.compile(rf"(?i){_SECRET_WORD}")
_PASSWORD = re.compile(
    r"(?i)pass(?:word|wd|phrase)|pwd|authtok|bindpw|private_?key|api_?key|access_?key|secret_?key|token$|jwt$"
)
_OF_FILE = re.compile(
    r"(?i)(?:file|path|dir|mount|location|ref|name|url|host|port|id|ttl|age|seconds|timeout|length|size|enabled)$"
)
_HARMLESS = re.compile(r"(?i)|true|false|yes|no|on|off|none|null")
_NO_SECRET = re.compile(r"(?i)^existing|(?:name|ref|file|path|secretkey|passwordkey|tokenkey)$|^keyType$|publicKey")


def texts_and_names(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and text of every string inside ``value``, the names of its parts among them."""
    for here, name, part in everything(value, path):
        if name is not None:
            yield here, name
        if isinstance(part, str):
            yield here, part


@lru_cache(maxsize=4096)
def views(text: str) -> tuple[bytes, ...]:
    """The text in every form in which it is searched."""
    found: list[bytes] = []
    todo = [text.encode("utf-8", "surrogatepass")]
    for depth in range(_DEPTH + 1):
        layer = []
        for raw in todo:
            flat = _BLANK.sub(b"", raw)
            found.append(raw)
            if flat != raw:
                found.append(flat)
            if depth < _DEPTH:
                layer += [part for form in ({raw, flat}) for part in _decoded(form)]
        todo = list(dict.fromkeys(layer))
    return tuple(dict.fromkeys(found))


def _decoded(raw: bytes) -> Iterator[bytes]:
    for match in _BASE64.finditer(raw):
        run = match[0].translate(_URL)
        for start in range(4):
            part = run[start:]
            part = part[: len(part) - 1] if len(part) % 4 == 1 else part
            yield base64.b64decode(part + b"=" * (-len(part) % 4))
    for match in _HEX.finditer(raw):
        for start in range(2):
            part = match[0][start:]
            yield binascii.unhexlify(part[: len(part) // 2 * 2])


def forms(seen: Iterable[bytes]) -> list[str]:
    """What gives itself away by its form in any of these views."""
    every = list(seen)
    return list(dict.fromkeys(what for what, pattern in _COMPILED if any(pattern.search(raw) for raw in every)))


def named_secret(name: str, value: str) -> bool:
    """Whether a name says that its literal value is a secret, and the value doesn't say that it is none."""
    if not _NAME.search(name) or _HARMLESS.fullmatch(value.strip()):
        return False
    if _OF_FILE.search(name) and (value.startswith(("/", "http://", "https://")) or value.isdigit()):
        return False
    return not value.startswith(("$", "{{", "<"))


def named_password(name: str, value: str) -> bool:
    """The same for the names of entries, of which many speak of keys and tokens: passwords and the like only."""
    return bool(_PASSWORD.search(name)) and not _NO_SECRET.search(name) and named_secret(name, value)


def arguments(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Name and value of what the words of a command set: ``--password=x``, ``--password x``, ``MYSQL_PWD=x mysql``."""
    every = [part for word in words for part in word.split()]
    for word, following in zip(every, [*every[1:], ""], strict=True):
        option = _OPTION.fullmatch(word)
        if option is None:
            continue
        value = option["value"] if option["value"] is not None else following
        if option["value"] is not None or (word.startswith("-") and not following.startswith("-")):
            yield option["name"], value.strip("'\"")


_OPTION = re.compile(r"-{0,2}(?P<name>[A-Za-z_][\w.-]*)(?:=(?P<value>.+))?")


class Needle:
    """A secret to search for. Any :data:`WINDOW` bytes of it in a row count, or all of a shorter one."""

    def __init__(self, secret: bytes) -> None:
        flat = b"".join(secret.split())
        self._wanted = [raw for raw in dict.fromkeys((secret, flat, base64.b64encode(secret))) if len(raw) >= SHORTEST]
        self._parts: dict[bytes, list[bytes]] = {}
        for raw in self._wanted:
            if len(raw) > WINDOW:
                for at in range(len(raw) - _STRIDE + 1):
                    self._parts.setdefault(raw[at : at + _STRIDE], []).append(raw)

    def within(self, seen: Iterable[bytes]) -> bool:
        """Whether any view holds the secret, or enough of it."""
        return any(self._in(view) for view in seen)

    def _in(self, view: bytes) -> bool:
        if any(len(raw) <= WINDOW and raw in view for raw in self._wanted):
            return True
        # Of 24 bytes in a row, 12 begin at a multiple of 12 or of 13 at the latest: look at those only.
        for at in range(0, len(view) - _STRIDE + 1, WINDOW - _STRIDE + 1):
            for raw in self._parts.get(view[at : at + _STRIDE], ()):
                if _in_common(raw, view, at):
                    return True
        return False


def _in_common(raw: bytes, view: bytes, at: int) -> bool:
    """Whether ``raw`` and ``view`` share WINDOW bytes around ``view[at:]``."""
    low = max(0, at - WINDOW)
    high = min(len(view), at + 2 * WINDOW)
    return any(view[start : start + WINDOW] in raw for start in range(low, high - WINDOW + 1))
