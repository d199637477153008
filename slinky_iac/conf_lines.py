"""Lines of a configuration file as Slurm reads them: of slurm.conf, slurmdbd.conf, and those beside them. Pure.

Source: ``_get_next_line`` of ``src/common/parse_config.c``, 25.11 and 26.05: of each row the comment goes first, so that a
backslash in it leads nowhere; a row that ends in an odd number of backslashes goes on in the next one, with nothing between;
of what is joined so, a backslash makes the next sign one like any other (``\\#``). ``s_p_parse_file`` reads so
acct_gather.conf, burst_buffer.conf, cgroup.conf, gres.conf, helpers.conf, job_container.conf, mpi.conf, oci.conf,
slurm.conf, slurmdbd.conf and topology.conf. plugstack.conf has a reader of its own (``_plugin_stack_parse_line``, spank.c).

The policy pack has this text, too: it imports nothing of the program, so ``tests.policies.making`` writes it there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_COMMENT: Final = re.compile(r"((?:[^\\#]|\\.)*\\?)#?.*", re.DOTALL)
"""A row up to its first ``#`` that no backslash is for."""
_ESCAPED: Final = re.compile(r"\\(.?)", re.DOTALL)
_BLANKS: Final = " \t\r\v\f"
_INCLUDE: Final = re.compile(r"include\s", re.IGNORECASE)
PLUGSTACK: Final = "plugstack.conf"
_SPANK_READS: Final = 4095
"""Bytes of plugstack.conf that are read at a time (``PATH_MAX``): of a longer row, each part is a row."""
_YAML: Final = re.compile(r"(?:[^\"'#]|(?<=\S)#)*")
"""A row of YAML up to its comment, or to a quote: what follows one may have a ``#`` that begins none."""
_AROUND: Final = re.compile(r"[{}]|,(?=\s|$)")
_OUTER: Final = re.compile(r"[A-Za-z_]\w{0,59}+:[ \t]++(?=[A-Za-z_]\w{0,59}+:(?:[ \t]|$))")
"""A key of a mapping on the same row: what counts are the keys in it, with their values."""


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments and without blanks at their ends, each with the number of its first row; none that is empty."""
    first, joined = 1, ""
    for number, row in enumerate(text.split("\n"), 1):
        match = _COMMENT.match(row) if "#" in row else None
        plain = (match[1] if match else row).rstrip(_BLANKS)
        if first == number and "\\" not in plain:
            first += 1
            if line := plain.strip():
                yield number, line
            continue
        slashes = len(plain) - len(plain.rstrip("\\"))
        joined += plain[:-1] if slashes % 2 else plain
        if slashes % 2:
            continue
        yield from _read(first, joined)
        first, joined = number + 1, ""
    yield from _read(first, joined)


def conf_lines(text: str) -> Iterator[str]:
    """The same without numbers."""
    return (line for _, line in numbered(text))


def file_lines(name: str, text: str) -> Iterator[tuple[int, str]]:
    """The same of a file of that name in /etc/slurm. A row of plugstack.conf is read in parts where it is too long; of a row
    of YAML it is ``key: value``, several where it has a mapping in braces, without what is around them."""
    if name == PLUGSTACK:
        rows = enumerate(text.split("\n"), 1)
        parts = ((number, part.partition("#")[0]) for number, row in rows for part in _parts(row))
    elif name.endswith((".yaml", ".yml")):
        parts = ((number, _inner(row)) for number, row in enumerate(text.splitlines(), 1))
    else:
        parts = ((number, line) for number, line in numbered(text))
    return ((number, part.strip()) for number, part in parts if part.strip())


def _parts(row: str) -> Iterator[str]:
    said = row.encode()
    return (said[at : at + _SPANK_READS].decode(errors="replace") for at in range(0, len(said), _SPANK_READS))


def _inner(row: str) -> str:
    match = _YAML.match(row)
    end = match.end() if match else 0
    return _OUTER.sub("", _AROUND.sub(" ", row[:end] if row[end : end + 1] == "#" else row))


def includes(line: str) -> bool:
    """Whether a line reads another file (``_parse_include_directive``)."""
    return bool(_INCLUDE.match(line))


def _read(first: int, joined: str) -> Iterator[tuple[int, str]]:
    if line := _ESCAPED.sub(r"\1", joined).strip():
        yield first, line
