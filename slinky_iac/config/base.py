"""What every section of the configuration has in common."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticKnownError, core_schema

from slinky_iac.keys.catalogue import Key

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


class Section(BaseModel):
    """A frozen section: unknown keys refused, inputs never shown in an error (they may be secrets).

    A program makes it by the fields' names; what is read from YAML has them in camelCase alone
    (:mod:`slinky_iac.config.reading.load`).
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        hide_input_in_errors=True,
        defer_build=True,
    )

    finding_ids: ClassVar[Mapping[str, str]] = {}
    """Ids of warnings and notes of the part whose section this is, and what docs/findings.md says of each."""
    chart_keys: ClassVar[Mapping[str, str]] = {}
    """Keys of Slinky's chart that mean its fields, by the fields' names in a file."""
    secrets: ClassVar[Mapping[str, str]] = {}
    """Secret configuration values that belong to it, and what docs/configuration.md says of each."""
    key_fields: ClassVar[Mapping[str, Key]] = {}
    """Its fields that say where a key is, each with the key."""
    meant: ClassVar[Mapping[tuple[str, str], str]] = {}
    """Settings with values by which people mean this section, and what each is here."""
    takes: ClassVar[Mapping[str, str]] = {}
    """Its settings that an Output of a program can give, and what each is taken for: a kind of :mod:`.outputs`."""
    takes_none: ClassVar[Mapping[str, str]] = {}
    """Its settings that take none, each with the reason of :mod:`.outputs`."""
    variables: ClassVar[tuple[str, ...]] = ()
    """What names of environment variables begin with by which its libraries find files and sockets: no job gets one of
    them."""
    elsewhere: ClassVar[frozenset[str]] = frozenset()
    """Its settings with a path of another machine."""

    def __deepcopy__(self, _memo: object = None) -> Self:
        """The section itself, for it is frozen: pydantic copies a default that has a mapping in it for every reading."""
        return self

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        """The schema, in which no number takes ``true`` for 1, as pydantic's do: `replicas: true` isn't a scale-in to 1."""
        schema = handler(source)
        _numbers_alone(handler.resolve_ref_schema(schema), cls)
        return schema

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema, with the texts below the fields as descriptions.

        They are read from the source only now: pydantic's own ``use_attribute_docstrings`` reads it at import, which
        every `pulumi` command would pay for (a fifth of this package's import).
        """
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema)["properties"]
        for section in cls.__mro__:
            if issubclass(section, Section) and section is not Section:
                for name, text in docstrings(section):
                    properties[to_camel(name)].setdefault("description", text)
        return schema


_INNER = frozenset({"schema", "fields", "choices", "items_schema", "keys_schema", "values_schema", "steps"})
"""Where pydantic has the schemas that a schema is made of."""


def _numbers_alone(schema: Any, section: type) -> Any:  # noqa: ANN401 - pydantic's schemas are mappings without a type
    """The schema of a section with a guard around each number in it; other sections in it have their own."""
    if isinstance(schema, list | tuple):
        return type(schema)(_numbers_alone(part, section) for part in schema)
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if schema.get("function", {}).get("function") in _GUARDS:  # pydantic gives the same objects for each type adapter
        return schema
    if kind in _NOT_TRUTH:
        return core_schema.no_info_before_validator_function(_NOT_TRUTH[kind], schema)
    if kind == "model" and schema["cls"] is not section:
        return schema
    for name in _INNER & schema.keys():
        inner = schema[name]
        if kind == "model-fields" and name == "fields":
            schema[name] = {field: _numbers_alone(field_schema, section) for field, field_schema in inner.items()}
        else:
            schema[name] = _numbers_alone(inner, section)
    return schema


def _no_truth(error: Literal["int_type", "float_type"], value: object) -> object:
    if isinstance(value, bool):
        raise PydanticKnownError(error)
    return value


_NOT_TRUTH: Mapping[Any, Callable[[object], object]] = {
    "int": functools.partial(_no_truth, "int_type"),
    "float": functools.partial(_no_truth, "float_type"),
}
_GUARDS = frozenset(_NOT_TRUTH.values())


def one_of(*fields: str, why: str, needed: bool = True) -> Any:  # noqa: ANN401 - pydantic's own type has no name
    """A validator: a section has one of these fields, or at most one where none is ``needed``."""

    def checked(section: Section) -> Section:
        given = sum(getattr(section, field) not in (None, ()) for field in fields)
        if given > 1 or (needed and not given):
            raise ValueError(f"give one of {' and '.join(map(to_camel, fields))}{'' if needed else ', or none'}: {why}")
        return section

    return model_validator(mode="after")(checked)


@functools.cache
def docstrings(thing: type) -> tuple[tuple[str, str], ...]:
    """The fields that a class' own source declares with a text below them, and that text."""
    (source,) = ast.parse(inspect.getsource(thing)).body
    docs: list[tuple[str, str]] = []
    for field, text in pairwise(source.body if isinstance(source, ast.ClassDef) else ()):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                docs.append((name, inspect.cleandoc(words)))
    return tuple(docs)
