"""How a message shows what was given: words of the schema and names, and of all else a few characters.

Messages go to logs, pull requests and pages, and a secret may stand where it shouldn't. So a text that is neither a name, a
hostlist nor a path is shown up to :data:`SHORT` characters, what looks like a key is only described, and fields that name
Secrets are never quoted where their value is refused.

A passphrase of words (``correct-horse-battery-staple``) has the form of a name, and no form tells the two apart. So the kind
of the place decides: where a site gives names of its own (NodeSets, partitions, features, labels, variables, a database) a
name is shown whole, since a message that doesn't name the NodeSet is of no help; where only some words may be (fields,
parameters, words of a list) another word is :func:`word_of`, in part. What remains is a passphrase typed as a site's own
name: that name is in the objects and the pods, so a message tells no more than they do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from slinky_iac.text import closest

SHORT: Final = 12
"""Characters of the longest text that is shown whole without being a name."""
LONGEST: Final = 40
"""Characters of the longest name that is shown: 32 bytes in base64, the shortest key, are 44."""
_CODED: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_CODED_PART: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}")
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_KEY: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}|eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_TOKEN: Final = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")
"""A JSON web token: three parts in base64, of which the first is a mapping."""
_NO_NAME: Final = re.compile(r"[0-9a-f]{32}|[0-9A-F]{32}|(?<![A-Z0-9])(?=[A-Z]*[2-7])[A-Z2-7]{26}")
"""In a text as short as names are: 16 bytes in hexadecimal digits, or in base32."""
_HEX_PART: Final = re.compile(r"(?=[a-f]*[0-9])[0-9a-f]{12,}")
_HEX: Final = frozenset("0123456789abcdef")
_NAME: Final = re.compile(r"[A-Za-z0-9_./:-]+")
"""Names of hosts, nodes, partitions, labels, switches, folders."""
_BRACKET: Final = r"\[[0-9]{1,18}(?:-[0-9]{1,18})?(?:,[0-9]{1,18}(?:-[0-9]{1,18})?)*\]"
_HOSTLIST: Final = re.compile(rf"(?=[^\[]*\[)(?:[A-Za-z0-9_.-]|{_BRACKET})+(?:,(?:[A-Za-z0-9_.-]|{_BRACKET})+)*")
"""Names of several hosts, as ``metal-[001-500],gpu-[1,3]``: a key has no numbers in brackets."""
LONGEST_HOSTLIST: Final = 200
_PATH: Final = re.compile(r"(?:/(?=[^/]{1,40}(?:/|$))[A-Z]?[a-z0-9._+*?\[\]-]*[a-z._+*?-][a-z0-9._+*?\[\]-]*)+")
"""An absolute path of words in small letters, each with a capital at its beginning at the most; or the pattern of
several."""
_LONGEST_PATH: Final = 200
_WORD: Final = re.compile(r"[A-Za-z]{1,30}|[0-9]{1,4}")
"""What a part of a path has that is the schema's: a field, or a place in a list."""
_FIELDS: Final = frozenset(f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred")) | {
    "persistentVolumeClaimRetentionPolicy"
}
"""Kubernetes' fields that are longer."""
_CUT: Final = re.compile(r".{0,12}…?\(\d+ characters\)")
"""A part of a path that was cut before."""
_HIDDEN: Final = re.compile(r"(secrets?|entry|key|password|pass|token)\d*$", re.IGNORECASE)


class Refused(ValueError):
    """A value that a field can't have: the value, which a message may show or describe, and what is allowed."""

    def __init__(self, value: str, words: str, *, whole: bool = False, near: str = "") -> None:
        """``whole``: the value has the form of names, as :func:`of_names` says, and is shown as it is. ``near``: words with
        what is made of the value, which a message has only where it has that one."""
        self.value, self.words = value, words
        super().__init__(f"got {repr(value) if whole else shown(value)}{words}{near}")


def may_be_secret(text: str) -> bool:
    """Whether a text has a key's form or length, so that not even its beginning is shown."""
    known = (form.search(text) for form in (_UUID, _NO_NAME))
    return len(text.splitlines()) > 1 or len(text) > LONGEST or any(known) or _coded(text)


def is_key(text: str) -> bool:
    """Whether a text has the form of a key, a token or a file in base64, and not that of a name. Shorter than 32 characters
    it may be a name."""
    if len(text) < 32 or _KEY.fullmatch(text) is None:
        return False
    return set(text) <= _HEX or "." in text or _of_all_kinds(text)


def has_token(text: str) -> bool:
    """Whether a JSON web token is in a text."""
    return _TOKEN.search(text) is not None


def shown(value: object) -> str:
    """A short text, a hostlist or a path in quotes, the beginning of a longer text, or what it is where it may be secret."""
    text = str(value)
    if _is_hostlist(text) or is_path(text):
        return repr(text)
    if "\n" in text or "\r" in text:
        return f"a text of {len(text.splitlines())} lines (not shown)"
    if len(text) > LONGEST:
        return f"a text of {len(text)} characters (not shown)"
    if may_be_secret(text):
        return f"a text of {len(text)} characters that looks like a key (not shown)"
    return repr(value) if len(text) <= SHORT else f"{_begin(text)!r}… ({len(text)} characters)"


def of_names(value: str, signs: str) -> bool:
    """Whether a text is short names and numbers with some of ``signs`` between, none of which may be a secret."""
    parts = re.split(f"[{re.escape(signs)}]", value)
    return len(parts) > 1 and len(value) <= LONGEST and all(len(part) <= SHORT and name_of(part) == part for part in parts)


def of_name(value: str) -> bool:
    """Whether what was given for a name is shown whole: it is like a name, but for signs or for one blank in it."""
    return name_of(value) == value or (value.count(" ") == 1 and of_names(value, " "))


def name_of(value: str) -> str:
    """A name in a message as it is; of another text what :func:`shown` shows."""
    if _is_hostlist(value) or is_path(value):
        return value
    plain = len(value) <= SHORT or _NAME.fullmatch(value) is not None
    return value if plain and value.isprintable() and not may_be_secret(value) else shown(value)


def _is_hostlist(text: str) -> bool:
    """Whether a text names hosts by numbers in brackets, and what is between these may be shown, too."""
    if len(text) > LONGEST_HOSTLIST or _HOSTLIST.fullmatch(text) is None:
        return False
    return not any(map(may_be_secret, re.split(rf"{_BRACKET}|,", text)))


def is_path(text: str) -> bool:
    """Whether a text is the path of a file or a folder, as people name them: no part of it has the letters of a key."""
    if len(text) > _LONGEST_PATH or _PATH.fullmatch(text) is None:
        return False
    return not any(form.search(part) for part in text.split("/") for form in (_UUID, _NO_NAME, _HEX_PART))


def place(path: str) -> str:
    """A path of settings for a message: fields and names as they are, of other parts their beginning at most."""
    parts: list[str] = []
    for is_field, group in groupby(path.split("."), lambda part: part in _FIELDS or _WORD.fullmatch(part) is not None):
        segments = list(group)
        parts += segments if is_field else [_part(".".join(segments))]
    cut = ".".join(parts)
    return cut if cut.isprintable() else ascii(cut)


def unknown_word(text: str) -> str:
    """The same of a single word that is known to be none of the schema's, so that no form makes it a name."""
    return text if len(text) <= SHORT and text.isprintable() else f"{_begin(text)}…({len(text)} characters)"


def word_of(text: str, words: Iterable[str] = ()) -> str:
    """A text where only some words may be: whole where it is short or like one of them, else in part."""
    if len(text) <= SHORT or closest(text, words):
        return name_of(text)
    return unknown_word(text)


def hidden(field: str) -> bool:
    """Whether a field's value is never shown: what is pasted there by mistake is the Secret's content."""
    return _HIDDEN.search(field) is not None


def _part(text: str) -> str:
    """A part of a path that may be of the user's own making."""
    if _CUT.fullmatch(text):
        return text
    if may_be_secret(text) and not _is_hostlist(text):
        return f"({len(text)} characters)"
    return text if name_of(text) == text else f"{_begin(text)}…({len(text)} characters)"


def _begin(text: str) -> str:
    """A third of a text, and never more than a short one has."""
    return text[: min(len(text) // 3, SHORT)]


def _coded(text: str) -> bool:
    """Whether a short text may be a key, or a piece of one: base64's letters, and of all their kinds, as words have not."""
    match = _CODED.fullmatch(text) or _CODED_PART.search(text)
    if match is None:
        return False
    return _of_all_kinds(match[0])


def _of_all_kinds(text: str) -> bool:
    return all(any(kind(letter) for letter in text) for kind in (str.isupper, str.islower, str.isdigit))
