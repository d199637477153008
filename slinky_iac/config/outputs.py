"""What an Output of a program can be taken for in a setting, and why others take none: words of ``Section.takes`` and
``Section.takes_none``, which components/takes.py gathers."""

from __future__ import annotations

from typing import Final

HOST: Final = "host"
"""A DNS name or an address."""
NAME: Final = "host name"
"""The same where what is made differs: an address is wrapped by ``address()``."""
ADDRESS: Final = "address"
NETWORK: Final = "network"
IMAGE: Final = "image"
OBJECT: Final = "name"
"""A name of an object of Kubernetes."""
LABEL: Final = "value of a label"
TEXT: Final = "text"
PUBLIC_KEYS: Final = "text with public keys of ssh"
FOLDER: Final = "path from / on"
WORD: Final = "word"
"""A text of letters and digits alone."""
URL: Final = "address of http or https"
COUNT: Final = "number of nodes"

IN_NAMES: Final = "it is in names of what the cluster makes, or says whose something is"
CONF_WORDS: Final = (
    "it is a part of slurm.conf, another file or a certificate, which are judged word by word before they are written"
)
USERS: Final = "users and their rights are judged by name before anything is made"
READ_BEFORE: Final = "it is a file of the machine where `pulumi` runs, and is read before"
WORK: Final = "it says which work Slurm is given, and a job that changes runs again"
COUNTED: Final = "nodes and demand are counted by it in the preview"
