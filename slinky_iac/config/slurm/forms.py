"""Forms of values of Slurm's parameters (:mod:`.permitted`, :mod:`.permitted_files`), and lines to paste."""

from __future__ import annotations

from typing import Final

from slinky_iac.config.slurm.plugins import bare


def words(names: str) -> tuple[str, ...]:
    """Names between blanks."""
    return tuple(names.split())


def completed(parameter: str, recorded: str, needed: str) -> str:
    """A parameter's recorded items and those of ``needed`` that it lacks, by what is before their ``=``, or by the plugin
    that they name: a line to paste never drops what a site has."""
    there = [item for item in recorded.split(",") if item]
    names = {item_name(parameter, item).lower() for item in there}
    lacking = (item for item in needed.split(",") if item and item_name(parameter, item).lower() not in names)
    return ",".join([*there, *lacking])


def item_name(parameter: str, item: str) -> str:
    """By what an item of a parameter is known: what is before its ``=``, or its plugin's name."""
    return bare(parameter, item.partition("=")[0])


NUMBER: Final = r"[+-]?\d{1,19}k?|unlimited|infinite"
SWITCH: Final = "yes|no|true|false|up|down|1|0"
TIME: Final = r"[\d:-]{1,20}|unlimited|infinite|none"
TEXT: Final = r"(?!/)(?:(?!://)[\w=.:;/%|+*\[\]@ ()-]){1,1000}"
"""Words, numbers, assignments and names of plugins; no path, no address, no quotation."""
PLUGIN: Final = r"\w{1,60}/\w{1,60}"
LEVEL: Final = "[3-7]|error|info|verbose|debug[23]?"
QUIET: Final = f"[0-7]|quiet|fatal|{LEVEL}"
OTHER: Final = "it may do harm in this form"
"""What is said of a value of another form."""
