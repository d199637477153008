"""Hand-offs of the shipped examples, with keys whose every trace can be searched for."""

from __future__ import annotations

import functools
from pathlib import Path

from slinky_iac.commands.handoff.common import Known
from slinky_iac.commands.handoff.forms import FORMS as EVERY
from slinky_iac.commands.handoff.forms import Keys, render
from slinky_iac.commands.handoff.model import Handoff, Rendered
from slinky_iac.commands.handoff.role_sheets import handoff
from slinky_iac.config.reading.load import load
from slinky_iac.keys.raw import fingerprint
from tests.clusters import RAW_KEYS
from tests.stacks import sections

KEYS = {"slurm.key": RAW_KEYS[0], "jwt_hs256.key": RAW_KEYS[1]}
KNOWN = Known(fingerprint(RAW_KEYS[0]), fingerprint(RAW_KEYS[1]), slurmctld_address="192.0.2.9")


def rendered(form: str, handed: Handoff, keys: Keys | None) -> tuple[Rendered, ...]:
    """All files of a form; the same hand-off with :data:`KEYS`, or with none, is rendered once."""
    return _rendered(form, handed, keys is KEYS) if keys is None or keys is KEYS else render(form, handed, keys)


@functools.cache
def _rendered(form: str, handed: Handoff, with_keys: bool) -> tuple[Rendered, ...]:
    return render(form, handed, KEYS if with_keys else None)


FORMS = {form: functools.partial(rendered, form) for form in EVERY}


@functools.cache
def made(example: Path, known: Known = KNOWN) -> Handoff:
    """The hand-off of a stack file."""
    return handoff(load(sections(example)), known)


def texts(files: tuple[Rendered, ...]) -> dict[str, str]:
    """Rendered files by path; keys as Latin-1."""
    return {str(each.path): each.content.decode("latin-1") for each in files}
