"""What prologs and epilogs, which root runs on each node, must not do to jobs and users of the node.

The rows are ``script_table.json``: pattern, what it finds, and a pattern that makes it sound. The policies judge by the same
rows (:mod:`.slurm_reach` writes them into ``made.json``). Source: slurm.conf(5), Prolog and Epilog Guide.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

TABLE: Final[dict[str, Any]] = json.loads(Path(__file__).with_name("script_table.json").read_text(encoding="utf-8"))
"""``rows``, and the parts that these and the rules of quotes are made of."""
_CHOSEN: Final = re.compile(TABLE["chosen"])
_UNQUOTED: Final = re.compile(rf"(?<!=)\$\{{?(?:{TABLE['chosen']})")
_QUOTED: Final = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")


@cache
def _rows() -> list[tuple[str, re.Pattern[str], re.Pattern[str] | None]]:
    def pattern(text: str) -> re.Pattern[str]:
        return re.compile(text.replace("<shared>", TABLE["shared"]).replace("<system>", TABLE["system"]))

    return [(what, pattern(harm), pattern(sound[0]) if sound else None) for what, harm, *sound in TABLE["rows"]]


def of_script(text: str) -> Iterator[str]:
    """What is wrong with a script that begins with ``#!``; each fault once, as what the script does."""
    interpreter, *lines = text.splitlines()
    body = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    if _CHOSEN.search(body) and not re.search(r"sh\b", interpreter):
        yield "reads a text that users choose, in a language that isn't judged"
    for what, harm, sound in _rows():
        if harm.search(body) and (sound is None or not sound.search(body)):
            yield what
    if match := _UNQUOTED.search(_QUOTED.sub('""', body)):
        yield f"has {match[0]} outside quotes: its user writes words of the command"
