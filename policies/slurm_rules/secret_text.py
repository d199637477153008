"""Finding secrets in text, whatever they are wrapped in: base64 at any offset, hex in either case, line breaks.

Everything is searched in *views*: the text itself, without its white space, and what base64 and hex in it decode to, and
what base64 and hex in that decode to. What is encrypted, compressed or spelled otherwise isn't found.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from slurm_rules.made import HARMLESS, MADE
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
_LITERAL = rb"(?!\{\{-?[ \t]{0,9}\.[\w.| \t-]{1,200}\}\}[ \t\r]{0,9}$)\S"
"""What a line sets, unless a template takes it from a store: ``{{ .bind }}``, which has no text of its own."""
TOKEN = "a JSON web token"
_FORMS = (
    (TOKEN, rb"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    ("a private key", rb"-----BEGIN[A-Z ]{0,40}PRIVATE ?KEY|PuTTY-User-Key-File"),
    ("a private key", rb'"kty"\s{0,20}:\s{0,20}"oct"|"d"\s{0,20}:\s{0,20}"[A-Za-z0-9_-]{20,}"'),
    ("StoragePass", rb"(?im)^[ \t]*+(?:Accounting)?StoragePass[ \t]*+=[ \t]*+" + _LITERAL),
    (
        "a directory's password",
        rb"(?im)^[ \t]*+(?:ldap_default_authtok|bindpw)(?:[ \t]*+=|[ \t](?![ \t]*=))[ \t]*+" + _LITERAL,
    ),
    *((what, form.encode()) for what, form in MADE["secretForms"].items()),
)
"""Each looks at a text once: no pattern begins at every place of a long run."""
_COMPILED = tuple((what, re.compile(pattern)) for what, pattern in _FORMS)
LARGEST = 1_000_000
"""Characters of a text beyond which it isn't judged, and the verdict says so."""
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LISTS: Mapping[str, Any] = HARMLESS["secretNames"]
_SECRET_WORDS = frozenset(_LISTS["words"])
_OF_KEYS = frozenset(_LISTS["beforeKey"])
"""What stands before ``key`` in the name of a secret."""
_ENDINGS = tuple(_LISTS["endings"])
_OF_FILE = frozenset(_LISTS["notLast"])
"""Last words by which a name speaks of a secret and has none."""
_HARMLESS = re.compile(
    r"(?i)|true|false|yes|no|on|off|none|null|disabled|enabled|required|optional|x|\*+|\d{1,3}"
    r"|\d{4}-\d\d-\d\dT[\d:.Z+-]{1,30}"
)
_NO_SECRET = re.compile(
    r"(?i)^existing|(?:secretkey|passwordkey|tokenkey|publickey|keytype)$|secrets?(?:ref|name|s)$|^secretRef"
)
_OWNED_SECRET = frozenset(_LISTS["ownedSecret"])
_LINE = re.compile(
    r"(?m)^[ \t-]{0,40}(?:export[ \t]{1,4}|set[ \t]{1,4})?[\"']?([A-Za-z_][\w.-]{0,60})[\"']?"
    r"[ \t]{0,9}[:=][ \t]{0,9}[\"']?([^\s\"'#,]{3,300})"
)
_REFERENCE = ("$", "{", "<", "%", "/", "./", "http://", "https://", "file:", "!", "&", "*", "|", ">", "[", "(", "#!")


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
    variants: list[bytes] = []
    todo = [text.encode("utf-8", "surrogatepass")]
    for depth in range(_DEPTH + 1):
        layer = []
        for raw in todo:
            flat = _BLANK.sub(b"", raw)
            variants.append(raw)
            if flat != raw:
                variants.append(flat)
            if depth < _DEPTH:
                layer += [part for form in ({raw, flat}) for part in _decoded(form)]
        todo = list(dict.fromkeys(layer))
    return tuple(dict.fromkeys(variants))


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


@lru_cache(maxsize=8192)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name: ``dbPassword``, ``DB_PASSWORD`` and ``db-password`` have two."""
    return tuple(part.lower() for part in _PARTS.findall(name))


def named_secret(name: str, value: str) -> bool:
    """Whether a name's words say that its literal value is a secret, and the value doesn't say that it is none."""
    text, words = value.strip(), words_of(name)
    if not words or _HARMLESS.fullmatch(text) or text.startswith(_REFERENCE):
        return False
    if words[-1] in _OF_FILE and (words[-1] != "id" or len(words) > 1):
        return False
    if not _SECRET_WORDS.isdisjoint(words) or words[-1].endswith(_ENDINGS):
        return True
    if "key" not in words:
        return False
    before = words[words.index("key") - 1] if words.index("key") else ""
    return before in _OF_KEYS or _random(text)


def _random(text: str) -> bool:
    """Whether a value looks like one that was drawn."""
    return len(text) >= 16 and any(character.isdigit() for character in text) and text.isalnum() and not text.islower()


def named_password(name: str, value: str) -> bool:
    """The same for the names of entries, of which many name a Secret: passwords, tokens and the like only."""
    words = words_of(name)
    if _NO_SECRET.search(name) or not named_secret(name, value):
        return False
    if words[-1] == "secret":  # a Secret's name, unless somebody's own
        return len(words) > 1 and words[-2] in _OWNED_SECRET
    return set(words) & _SECRET_WORDS != {"secret"} or "key" in words


def set_in(text: str) -> Iterator[tuple[str, str]]:
    """Name and value of the lines ``name: value`` and ``name=value`` of a text."""
    for match in _LINE.finditer(text):
        yield match[1], match[2]


def arguments(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Name and value of what the words of a command set: ``--password=x``, ``--password x``, ``MYSQL_PWD=x mysql``."""
    every = [part for word in words for part in word.split()]
    for word, following in zip(every, [*every[1:], ""], strict=False):
        option = _OPTION.fullmatch(word)
        short = _SHORT.fullmatch(word)
        value = (short["value"] or following).strip("'\"") if short else ""
        if short and _drawn(value.rpartition(":")[2]):
            yield "password", value.rpartition(":")[2]
        if option is None:
            continue
        value = option["value"] if option["value"] is not None else following
        if option["value"] is not None or (word.startswith("-") and not following.startswith("-")):
            yield option["name"], value.strip("'\"")


_SHORT = re.compile(r"-[pPwWaAu](?P<value>\S{0,300})")
"""Options by which programs take a password: mariadb -pX, ldapsearch -w X, redis-cli -a X, curl -u NAME:X."""


def _drawn(text: str) -> bool:
    """Whether a text has letters of both cases and digits, as no word has."""
    return len(text) >= SHORTEST and all(re.search(form, text) for form in ("[a-z]", "[A-Z]", "[0-9]")) and "/" not in text


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
