"""Secrets that a text shows by its form, whatever its name. The settings and the policy pack (``made.json``) judge by this
table. Pure."""

from __future__ import annotations

from typing import Final

FORMS: Final = {
    "a password in a URL": r"(?i)(?<![a-z0-9+.])[a-z][a-z0-9+.]{0,20}+://[^\s/:@'\"]{1,256}+:[^\s/@'\"$<{]{1,256}+@",
    "a token of GitHub": r"\bgh[opsur]_[A-Za-z0-9]{30}",
}
"""What it is, and the regular expression by which it is found: it looks at a text once. In a URL a variable, a placeholder
and a template are no password. Source of the second: GitHub Docs, "About authentication to GitHub" (token formats)."""
