"""Forms of values of Slurm's parameters, for :mod:`.slurm_permitted` and :mod:`.slurm_permitted_files`."""

from __future__ import annotations

from typing import Final


def words(names: str) -> tuple[str, ...]:
    """Names between blanks."""
    return tuple(names.split())


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
