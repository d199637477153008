"""Labels that the stack's own objects have, or select others by: the API server refuses such an object in the middle of an
update, over another one. Those of pods, which slurm-operator makes, are judged with the pods (:mod:`.rules.pods`)."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator

from slinky_iac.config.kubernetes.names import KEY, LABEL_VALUE, Syntax
from slinky_iac.config.shown import Refused, of_name

_REFUSES: Final = "The API server refuses the object that has it, with the update half done"


def _checked(syntax: Syntax) -> AfterValidator:
    def check(value: str) -> str:
        if not syntax.takes(value):
            raise Refused(value, f"; Kubernetes takes {syntax.form}. {_REFUSES}", whole=of_name(value))
        return value

    return AfterValidator(check)


Labels = dict[Annotated[str, _checked(KEY)], Annotated[str, _checked(LABEL_VALUE)]]
"""Labels by their keys, as they are in an object's metadata or in a selector."""
