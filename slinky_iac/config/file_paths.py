"""Paths of files and names of contexts, where people paste what is in the files. Pure."""

from __future__ import annotations

from typing import Final

from slinky_iac.config.shown import is_key

_NO_PATH: Final = ("{", ": ", "://", "-----")
"""What the text of a kubeconfig, a URL and a PEM file have, and no path that a stack names."""


def file_path(value: str) -> str:
    """A path. Pulumi's providers take a file's text in the same place, and settings are shown in states and previews."""
    parts = value.split("/")
    long = len(value) > 4096 or max(map(len, parts)) > 255
    if long or not _is_one_word(value) or any(map(is_key, parts)):
        raise ValueError(
            "is not the path of a file: a path is one line without '{', ': ', '://' or '-----', such as /etc/slinky/ca.pem."
            " If you pasted the file's contents, delete them here: settings can be read in the state and in previews, so any"
            " key in them has leaked (`slinky docs keys`)"
        )
    if value.startswith(("/proc/", "/dev/fd/")):
        raise ValueError(
            "is a file that one process alone has open, and previews, updates and gates are other processes. Write its text"
            " to a file that only you can read"
        )
    return value


def _is_one_word(value: str) -> bool:
    """Whether a text may name something: a file's text, a URL and a key of one line may not."""
    key = is_key(value) and not value.startswith("/")
    return value.isprintable() and not any(sign in value for sign in _NO_PATH) and not key


def context_name(value: str) -> str:
    """A context's name: a cloud's has slashes, colons and an at sign in it, and no space."""
    if len(value) > 200 or " " in value or not _is_one_word(value):
        raise ValueError(
            "is not the name of a context: a name is one word without '{', '://' or '-----'; `kubectl config get-contexts`"
            " lists them. If you pasted a kubeconfig, delete it here: settings can be read in the state and in previews, so"
            " any key in it has leaked"
        )
    return value
