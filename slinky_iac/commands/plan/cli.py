"""`slinky plan`: arguments, reading, judging, writing. Everything else is pure."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from slinky_iac import causes
from slinky_iac.commands import output
from slinky_iac.commands.output import WIDEST, as_argument, terminal
from slinky_iac.commands.plan.build import change_order, read_removals
from slinky_iac.commands.plan.limits import Exit, Limits, Verdict, judge
from slinky_iac.commands.plan.model import ChangeOrder
from slinky_iac.commands.plan.render_markdown import markdown
from slinky_iac.commands.plan.render_table import table
from slinky_iac.config.fields import parse_duration
from slinky_iac.errors import PreviewError
from slinky_iac.text import stamp

_TIMES = frozenset({"taken_at", "started", "ends_by", "free_at", "deadline_at"})


def as_json(order: ChangeOrder, verdict: Verdict) -> str:
    """One JSON object; times are ISO 8601 or null."""
    document = {
        "verdict": _verdict(verdict),
        "known": order.known,
        **asdict(order, dict_factory=_plain),
        "undo": [{"what": what, "why": why} for what, why in order.undo],
    }
    return output.as_json(document) + "\n"


def _plain(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return {key: stamp(value) if key in _TIMES and isinstance(value, int) else value for key, value in pairs}


def _verdict(verdict: Verdict) -> dict[str, object]:
    code = verdict.code
    return {"exit_code": int(code), "name": code.name.lower(), "limited": verdict.limited, "reasons": list(verdict.reasons)}


FORMS: Final = {"order.txt": "table", "order.md": "markdown", "order.html": "html", "order.json": "json"}
CODES = (
    "exit codes: 0 known and within the limits; 1 no preview, or a failed one; 2 wrong arguments; 3 limits exceeded;"
    " 4 something drains and it isn't known which nodes or whose jobs, or with --strict a policy could not judge;"
    " 7 known, but a drain would now pass its deadline or is blocked"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("file", nargs="?", default="-", help="output of `pulumi preview --json`; - or nothing: stdin")
    parser.add_argument(
        "--format", choices=("table", "markdown", "html", "json"), default="table", help="form of the output (default table)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--out", metavar="FILE", help="file to write to; by default stdout")
    where.add_argument(
        "--folder", metavar="DIR", help="folder to write all forms to: order.txt, order.md, order.html, order.json"
    )
    where.add_argument("--check-limits", action="store_true", help="only check the limits that are given here; read nothing")
    parser.add_argument("--removals", metavar="FILE", help="output of `drain plan --json`, for NodeSets that are removed")
    parser.add_argument(
        "--max-share",
        type=_share,
        metavar="SHARE",
        help="largest share of a NodeSet that may be removed at once: 0.5 or 50%%",
    )
    parser.add_argument("--max-jobs", type=_count, metavar="N", help="most jobs that all drains together may wait for")
    parser.add_argument(
        "--max-job-age",
        type=as_argument(parse_duration),
        metavar="TIME",
        help="longest time that a job which a drain waits for may have run: 90s, 30m, 2d12h",
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 4 where a policy could not judge, or none was applied"
    )
    parser.add_argument("--allow-late", action="store_true", help="don't exit with 7 for a drain that passes its deadline")
    zone = "zone of the times that the page shows on hover beside UTC, such as America/Chicago; by default this machine's"
    parser.add_argument("--zone", type=_zone, metavar="NAME", help=zone)


def run(arguments: argparse.Namespace) -> int:
    """Read, judge, write. Raises PreviewError; returns the exit code of the verdict."""
    if arguments.check_limits:
        return int(Exit.OK)
    removals = read_removals(_text(arguments.removals)) if arguments.removals else None
    order = change_order(_text(arguments.file), now=int(time.time()), removals=removals)
    most = (arguments.max_share, arguments.max_jobs, arguments.max_job_age)
    limits = Limits(*most, strict=arguments.strict, allow_late=arguments.allow_late)
    verdict = judge(order, limits)
    zone = arguments.zone or datetime.now().astimezone().tzinfo
    if arguments.folder:
        for name, form in FORMS.items():
            _write(Path(arguments.folder) / name, _render(form, order, verdict, zone=zone))
    elif arguments.out and arguments.out != "-":
        _write(Path(arguments.out), _render(arguments.format, order, verdict, zone=zone))
    else:
        sys.stdout.write(_render(arguments.format, order, verdict, zone=zone, tty=sys.stdout.isatty()))
    return int(verdict.code)


def _render(form: str, order: ChangeOrder, verdict: Verdict, *, zone: tzinfo | None, tty: bool = False) -> str:
    match form:
        case "markdown":
            return markdown(order, verdict)
        case "html":
            from slinky_iac.commands.plan.render_html import page  # noqa: PLC0415 - the template engine, for this form alone

            return page(order, verdict, zone=zone)
        case "json":
            return as_json(order, verdict)
        case _:
            colour, width = terminal(WIDEST) if tty else (False, None)
            return table(order, verdict, colour=colour, width=width)


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "isn't UTF-8"
        raise PreviewError(
            f"{file} can't be read ({why}): nothing was judged. Make it by `pulumi preview --json > {file}`"
        ) from None


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PreviewError(f"{file} can't be written ({causes.of_file(error)}): the order isn't shown anywhere") from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise argparse.ArgumentTypeError(f"got {name!r}; a zone is named like America/Chicago") from None


def _share(text: str) -> float:
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"got {text!r}; a share is above 0 and at most 1, or a percentage: 60%")
    return value


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"got {text!r}; allowed is a whole number from 0")
    return int(text)
