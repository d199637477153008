"""`slinky policies`: the policy pack of this release in a folder, offline; and entries of the site file for a review."""

from __future__ import annotations

import argparse
import datetime
import json
import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from slinky_iac.commands import whole_file
from slinky_iac.commands.new import require_room, shipped
from slinky_iac.errors import ProjectError

CODES = "exit codes: 0 written; 1 a file can't be read or written, or the review shows nothing; 2 wrong arguments"
FILES: Final = (
    *("PulumiPolicy.yaml", "__main__.py", "requirements.txt", "requirements.lock"),
    *("site.example.json", "site.schema.json"),
)
RULES: Final = "slurm_rules"
"""The package with the rules, beside the files."""
BESIDE: Final = ("site.json", "venv", "README.md")
"""What may be there already: a site's own file and the Python environment stay where a pack is replaced by a newer one."""
RULE: Final = "cluster-as-made"
"""The rule whose findings a site may declare."""
LONGEST: Final = datetime.timedelta(days=366)
"""How far ahead an entry may end: its owner then looks again."""
SHORTEST_REASON: Final = 8
_WHAT: Final = re.compile(r"\(what: ([^()\s]+)\)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    acts = parser.add_subparsers(dest="act", required=True, metavar="COMMAND")
    write_ = acts.add_parser("write", help="write the pack into a folder")
    write_.add_argument("folder", type=Path, metavar="DIR", help="a new folder, or an empty one")
    accept_ = acts.add_parser("accept", help=f"declare in the site file what a review shows of the rule {RULE}")
    accept_.add_argument(
        "review", type=Path, metavar="FILE", help="what `pulumi preview --policy-pack` printed; - for stdin"
    )
    accept_.add_argument(
        "--site", type=Path, required=True, metavar="FILE", help="site file; it is created if it doesn't exist"
    )
    accept_.add_argument("--reason", required=True, help="why it may be there")
    accept_.add_argument("--owner", required=True, help="who answers for it")
    day: dict[str, Any] = {"type": datetime.date.fromisoformat, "metavar": "YYYY-MM-DD"}
    accept_.add_argument("--until", **day, required=True, help="last day of the entries, within a year")
    accept_.add_argument("--only", metavar="TEXT", help="only what begins with this, e.g. Role/slurm/")


def run(arguments: argparse.Namespace) -> int:
    """Write the pack, or entries. Raises :class:`ProjectError` before anything is written; returns the exit code."""
    if arguments.act == "write":
        write(arguments.folder)
        print("\n".join(next_steps(arguments.folder)))
        return 0
    findings = shown(_text(arguments.review), arguments.only or "")
    entry = {"reason": arguments.reason.strip(), "owner": arguments.owner.strip(), "until": arguments.until.isoformat()}
    require_sound(entry, arguments.until, datetime.datetime.now(tz=datetime.UTC).date())
    accept(arguments.site, findings, entry)
    print("\n".join([f"declared in {arguments.site}, until {entry['until']}:", *(f"  {what}" for what in findings)]))
    print("Read each: it is what the pack no longer refuses. Run the preview again with --policy-pack-config.")
    return 0


def shown(text: str, only: str = "") -> list[str]:
    """What a review shows of the rule, in order. Raises :class:`ProjectError` where that is nothing."""
    findings = [what for what in dict.fromkeys(_WHAT.findall(text)) if what.startswith(only)]
    if not findings:
        raise ProjectError(
            f"the review has no finding of the rule {RULE}{f' that begins with {only}' if only else ''}; nothing was"
            " written. Give the whole output of `pulumi preview --policy-pack DIR`"
        )
    return findings


def require_sound(entry: dict[str, str], until: datetime.date, today: datetime.date) -> None:
    """Refuse an entry that says nothing, or that has no end. Raises :class:`ProjectError`."""
    if len(entry["reason"]) < SHORTEST_REASON or not entry["owner"]:
        raise ProjectError(f"--reason needs {SHORTEST_REASON} characters, and --owner a name. Nothing was written")
    if not today <= until <= today + LONGEST:
        raise ProjectError(f"--until is {until}; it may be from today to {today + LONGEST}. Nothing was written")


def accept(site: Path, findings: Iterable[str], entry: dict[str, str]) -> None:
    """Put entries into a site file, in place of those for the same. Raises :class:`ProjectError` with nothing changed."""
    levels = _site(site)
    rule = levels.get(RULE, {})
    rule = {"enforcementLevel": rule} if isinstance(rule, str) else dict(rule)
    given = list(findings)
    kept = [declaration for declaration in rule.get("declared", []) if declaration.get("what") not in given]
    rule["declared"] = [*kept, *({"what": what, **entry} for what in given)]
    _replace(site, json.dumps({**levels, RULE: rule}, indent=2) + "\n")


def _text(review: Path) -> str:
    try:
        return sys.stdin.read() if str(review) == "-" else review.read_text(encoding="utf-8", errors="replace")
    except OSError as wrong:
        raise ProjectError(f"{review}: can't be read ({wrong.strerror})") from None


def _site(site: Path) -> dict[str, Any]:
    try:
        levels = json.loads(site.read_text(encoding="utf-8")) if site.exists() else {}
    except (OSError, ValueError):
        raise ProjectError(f"{site}: is not a site file in JSON that can be read. Nothing was written; correct it") from None
    if not isinstance(levels, dict) or not isinstance(levels.get(RULE, {}), dict | str):
        raise ProjectError(f"{site}: is not a mapping of rules. Nothing was written; see policies/site.schema.json")
    return levels


def _replace(file: Path, text: str) -> None:
    """A whole file, or the old one."""
    try:
        whole_file.write(file, text)
    except OSError as wrong:
        raise ProjectError(f"{file}: can't be written ({wrong.strerror}). It is as it was") from None


def write(folder: Path) -> None:
    """Copy the pack. No file that is there is changed. Raises :class:`ProjectError`."""
    require_room(folder, (*FILES, RULES), beside=BESIDE, what="a policy pack")
    pack = shipped("policies")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            shutil.copyfile(pack / name, folder / name)
        shutil.copytree(pack / RULES, folder / RULES, ignore=shutil.ignore_patterns("__pycache__"))
    except (OSError, shutil.Error) as wrong:
        raise ProjectError(f"{folder}: can't be written ({getattr(wrong, 'strerror', None) or wrong})") from None


def next_steps(folder: Path) -> list[str]:
    """What to do with the new folder."""
    return [
        f"wrote the policy pack to {folder}. Next:",
        f"  python3 -m venv {folder}/venv",
        f"  {folder}/venv/bin/pip install --require-hashes -r {folder}/requirements.lock",
        f"  cp {folder}/site.example.json {folder}/site.json   # your site's levels and bounds",
        f"  pulumi preview --policy-pack {folder} --policy-pack-config {folder}/site.json",
    ]
