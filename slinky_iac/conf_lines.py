"""Lines of a configuration file as Slurm reads them: of slurm.conf, slurmdbd.conf and a Controller's ``extraConf``. Pure.

Source: ``_get_next_line`` of ``src/common/parse_config.c``, 25.11 and 26.05: of each row the comment goes first, so that a
backslash in it leads nowhere; a row that ends in an odd number of backslashes goes on in the next one, with nothing between;
of what is joined so, a backslash makes the next sign one like any other (``\\#``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_COMMENT: Final = re.compile(r"((?:[^\\#]|\\.)*\\?)#?.*", re.DOTALL)
"""A row up to its first ``#`` that no backslash is for."""
_ESCAPED: Final = re.compile(r"\\(.?)", re.DOTALL)
_BLANKS: Final = " \t\r\v\f"


def conf_lines(text: str) -> Iterator[str]:
    """Lines without comments and without blanks at their ends; none that is empty."""
    joined = ""
    for row in text.split("\n"):
        match = _COMMENT.match(row)
        plain = (match[1] if match else row).rstrip(_BLANKS)
        slashes = len(plain) - len(plain.rstrip("\\"))
        joined += plain[:-1] if slashes % 2 else plain
        if slashes % 2:
            continue
        yield from _read(joined)
        joined = ""
    yield from _read(joined)


def _read(joined: str) -> Iterator[str]:
    if line := _ESCAPED.sub(r"\1", joined).strip():
        yield line
