"""What every section of the configuration has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Section(BaseModel):
    """A frozen section: camelCase in YAML, unknown keys refused, inputs never shown in an error (they may be secrets)."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=False,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )
