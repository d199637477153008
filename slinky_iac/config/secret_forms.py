"""What says that a text is a secret: its form, or its name. The settings and the policy pack (``made.json``) have one table
of forms. Pure."""

from __future__ import annotations

import re
from typing import Final

FORMS: Final = {
    "a password in a URL": r"(?i)(?<![a-z0-9+.])[a-z][a-z0-9+.]{0,20}+://[^\s/:@'\"]{1,256}+:[^\s/@'\"$<{]{1,256}+@",
    "a token of GitHub": r"\bgh[opsur]_[A-Za-z0-9]{30}",
}
"""What it is, and the regular expression by which it is found: it looks at a text once. In a URL a variable, a placeholder
and a template are no password. Source of the second: GitHub Docs, "About authentication to GitHub" (token formats)."""
_SECRET_WORDS: Final = frozenset(
    {"pass", "passwd", "password", "passphrase", "secret", "token", "jwt", "apikey", "credential", "credentials"}
)
_LIKELY_WORDS: Final = frozenset({"key", "pwd", "cred", "creds", "auth"})
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_secret(name: str) -> bool:
    """Whether one of a name's words says that the value is a secret: DB_PASSWORD, dbPass, API_TOKEN."""
    return bool(_SECRET_WORDS & _words(name)) or "apikey" in name.lower().replace("_", "")


def is_likely_secret(name: str) -> bool:
    """Whether a name's last word may say so: SSH_KEY, and SORT_KEY too."""
    words = _WORDS.findall(name)
    return bool(words) and words[-1].lower() in _LIKELY_WORDS and name not in {"PWD", "OLDPWD"}


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(name)}
