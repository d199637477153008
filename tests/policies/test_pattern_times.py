"""Time that the pack takes over a text that somebody wrote to hold a review: linear, whatever the text and the pattern."""

from __future__ import annotations

import ast
import functools
import importlib
import json
import operator
import pkgutil
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import slurm_rules
from slurm_rules import scripts, secret_text, slurm_conf, slurm_files
from slurm_rules.charts import base_name
from slurm_rules.made import HARMLESS
from slurm_rules.model import Stack
from slurm_rules.partitions import partition_references
from slurm_rules.world import world_of

from slinky_iac.config.slurm import permitted as slurm_permitted
from slinky_iac.config.slurm import permitted_files as slurm_permitted_files
from tests.policies.judging import judged, spec

MEGABYTE = 1_000_000
PARTS = {
    "letters": "a",
    "capitals": "A",
    "digits": "0",
    "names": ".a",
    "hosts": "10.0.0.1 node0001.cluster.example.org node0001\n",
    "lines": "\n",
    "blanks": " ",
    "tabs": "\t\n",
    "schemes": "a://",
    "users": "a:b@",
    "tokens": ".eyJaaaaaaaa",
    "pem": "-----BEGIN ",
    "jwk": '"kty" ',
    "passwords": "StoragePass \n",
    "authtok": "ldap_default_authtok\n",
    "pairs": "password=",
    "equals": "=",
    "words": "A_",
    "camels": "aA",
    "brackets": "[1-2]",
    "commas": ",",
    "ranges": "a[1-65533],",
    "quotes": '"',
    "versions": "-0.0",
}
LONG = {name: part * (MEGABYTE // len(part)) for name, part in PARTS.items()}
"""A megabyte of what a pattern begins with, and of each kind of letter."""
NOWHERE = world_of(Stack(()))
READERS: dict[str, Callable[[str], object]] = {
    "name and value": lambda text: list(secret_text.set_in(text)),
    "words of a name": secret_text.words_of.__wrapped__,
    "arguments": lambda text: list(secret_text.arguments([text])),
    "slurm.conf": lambda text: list(slurm_files.conf_faults(text, "slurm.conf", NOWHERE)),
    "sssd.conf": lambda text: list(slurm_files.sssd_faults(text)),
    "a file": lambda text: list(slurm_files.file_faults("x.conf", text, [], NOWHERE, own=False)),
    "node names": lambda text: slurm_conf.nodes(f"NodeName={text}"),
    "a chart's name": base_name,
    "a script of Lua": lambda text: list(scripts.lua_faults(text)),
    "a script of a shell": lambda text: list(scripts.shell_faults(f"#!/bin/sh\n{text}")),
}
AT_RUN_TIME = {
    "others.listed",  # of harmless.json: see _of_tables
    "beside._one_of",  # of beside.json: see _of_tables
    "made._text_like",  # of made.json, its marks filled in with names of the stack
    "others.leads_in",  # names of the stack
    "secret_text._drawn",  # one letter
    "values._probe",  # of harmless.json: see _of_tables
    "scripts._of_command",  # of made.json: see _of_tables
    "slurm_files._form",  # of made.json: see _of_tables
    "values.fault_of",  # of made.json and harmless.json: see _of_tables
}
"""Functions that make a pattern of what isn't written in them."""

FOLDER = Path(next(iter(slurm_rules.__path__)))
Use = tuple[re.Pattern[Any], str]
"""A pattern, and the method by which the pack looks with it."""


@functools.cache
def _modules() -> Mapping[str, tuple[ModuleType, ast.Module]]:
    """The pack's modules that have patterns at all; the one that speaks to Pulumi has none and isn't imported here."""
    found = {}
    for each in pkgutil.iter_modules(slurm_rules.__path__):
        tree = ast.parse((FOLDER / f"{each.name}.py").read_text(encoding="utf-8"))
        if any(isinstance(node, ast.Name) and node.id == "re" for node in ast.walk(tree)):
            found[each.name] = (importlib.import_module(f"slurm_rules.{each.name}"), tree)
    return found


def _held(value: object) -> Iterator[re.Pattern[Any]]:
    """The patterns in a module's variable."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from _held(part)
    elif isinstance(value, Mapping):
        yield from _held(list(value.values()))


def _calls(tree: ast.AST) -> Iterator[tuple[str, str, ast.Call]]:
    """Name before the dot, method and call of every ``name.method(…)``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            before = node.func.value
            name = before.id if isinstance(before, ast.Name) else before.attr if isinstance(before, ast.Attribute) else ""
            yield name, node.func.attr, node


def _of_variables() -> Iterator[tuple[str, Use]]:
    modules = _modules()
    for where, (module, _) in modules.items():
        for name, value in vars(module).items():
            if name.startswith("__"):
                continue
            for number, pattern in enumerate(_held(value)):
                trees = [tree for other, tree in modules.values() if vars(other).get(name) is value]
                methods = {method for tree in trees for before, method, _ in _calls(tree) if before == name} & METHODS.keys()
                for method in sorted(methods or {"search"}):
                    yield f"{where}.{name}.{number}.{method}", (pattern, method)


def _in_functions() -> Iterator[tuple[str, Use | None]]:
    """Patterns that are written in functions; None where one is made of what isn't written there."""
    for where, (_, tree) in _modules().items():
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            for before, method, call in _calls(function):
                if before == "re" and method in {*METHODS, "compile"}:
                    named = [getattr(each, "attr", "") for more in call.args[1:] for each in ast.walk(more)]
                    flags = [getattr(re, each, None) for each in named]
                    try:
                        text = ast.literal_eval(call.args[0])
                    except ValueError:
                        yield f"{where}.{function.name}", None
                        continue
                    flag = functools.reduce(operator.or_, (each for each in flags if isinstance(each, re.RegexFlag)), 0)
                    used = method if method in METHODS else "search"
                    yield f"{where}.{function.name}.{call.lineno}.{used}", (re.compile(text, flag), used)


def _of_tables() -> Iterator[tuple[str, Use]]:
    """Patterns of the pack's tables: all that a value may be, behind ``~``, and what parameters of Slurm may be."""
    harmful = (slurm_permitted.PERMITTED, slurm_permitted.WITHOUT_CGROUPS, slurm_permitted.PARTITION)
    harmful += (slurm_permitted.NODE, *slurm_permitted_files.IN_FILES.values())
    forms = {*slurm_permitted.FREE.values(), *(form for table in harmful for form, _ in table.values())}
    yield from ((form, (re.compile(form, re.IGNORECASE), "fullmatch")) for form in sorted(forms))
    tables = (HARMLESS["clouds"]["pools"], HARMLESS["clouds"]["forms"], HARMLESS["observers"])
    said = {form for table in tables for rows in table.values() for form in rows.values()}
    said |= {form for each in HARMLESS["values"]["probes"].values() if isinstance(each, dict) for form in each.values()}
    said |= {form for part in ("pod", "container") for form in HARMLESS["guests"][part].values()}
    yield from ((form, (re.compile(form), "fullmatch")) for form in sorted(said))
    own = {form for _, form, _ in HARMLESS["sssd"]}
    yield from ((form, (re.compile(form, re.IGNORECASE), "fullmatch")) for form in sorted(own))
    people = {each for rows in ("everybody", "inTexts", "ofUsers") for row in HARMLESS["people"][rows] for each in row[:2]}
    yield from ((form, (re.compile(form), "fullmatch")) for form in sorted(people))
    commands = HARMLESS["scripts"]["commands"]["forms"].values()
    yield from ((form, (re.compile(form), "of a command")) for form in sorted(commands))
    for file in sorted(FOLDER.glob("*.json")):
        todo: list[Any] = [json.loads(file.read_text(encoding="utf-8"))]
        while todo:
            part = todo.pop()
            todo += [*part, *part.values()] if isinstance(part, dict) else part if isinstance(part, list) else []
            if isinstance(part, str) and part.startswith("~"):
                yield f"{file.name}.{part}", (re.compile(part[1:], re.DOTALL), "fullmatch")


METHODS: dict[str, Callable[[re.Pattern[Any], Any], object]] = {
    "search": lambda pattern, text: pattern.search(text),
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "findall": lambda pattern, text: pattern.findall(text),
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
    "split": lambda pattern, text: pattern.split(text),
    "sub": lambda pattern, text: pattern.sub(lambda found: found[0], text),
    "of a command": lambda pattern, text: pattern.fullmatch(text[: scripts._LONGEST]),
}
USES: dict[str, Use] = {
    **dict(_of_variables()),
    **{name: use for name, use in _in_functions() if use is not None},
    **dict(_of_tables()),
}


class _Attack:
    """Texts of one pattern: what leads to each of its repetitions, and then what it repeats, over and over."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        parser = importlib.import_module("re._parser")
        self.pairs: list[tuple[str, str]] = []
        source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode()
        whole = self._sample(parser.parse(source, pattern.flags & (re.IGNORECASE | re.MULTILINE | re.DOTALL)), "")
        self.pairs += [("", whole), ("", whole[:-1])]

    def texts(self) -> Iterator[str]:
        for before, part in dict.fromkeys(self.pairs):
            for start, again in {(before, part), ("", before + part)}:
                if again:
                    yield start + again * (MEGABYTE // len(again)) + "\0"

    def _sample(self, items: Any, before: str) -> str:
        said = ""
        for code, value in items:
            said += self._one(str(code), value, before + said)
        return said

    def _one(self, code: str, value: Any, before: str) -> str:
        said = ""
        match code:
            case "LITERAL":
                said = chr(value)
            case "NOT_LITERAL" | "ANY":
                said = "b" if value == ord("a") else "a"
            case "IN":
                said = _member(value)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, items = value
                part = self._sample(items, before)
                if int(most) > 1:
                    self.pairs.append((before, part))
                said = part * max(1, int(least))
            case "SUBPATTERN":
                said = self._sample(value[-1], before)
            case "ATOMIC_GROUP":
                said = self._sample(value, before)
            case "BRANCH":
                said, *_ = [self._sample(each, before) for each in value[1]]
            case "ASSERT" | "ASSERT_NOT":
                self._sample(value[1], before)
        return said


def _member(items: list[Any]) -> str:
    """A letter of a class."""
    code, value = items[0]
    match str(code):
        case "LITERAL":
            return chr(value)
        case "RANGE":
            return chr(value[0])
        case "NEGATE":
            out = {chr(each) for kind, each in items[1:] if str(kind) == "LITERAL"}
            return next(each for each in "a0.%" if each not in out)
    return {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " "}.get(str(value), "a")


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Processor time that what is inside may take. One that takes more is ended: re looks for signals."""

    def end(*_: object) -> None:
        message = f"took more than {seconds:g} s of processor time"
        raise TimeoutError(message)

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    begun = time.process_time()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    assert time.process_time() - begun < seconds


def test_a_pattern_is_written_down_or_its_function_is_known() -> None:
    assert {name for name, use in _in_functions() if use is None} == AT_RUN_TIME


@pytest.mark.parametrize("name", USES)
def test_a_pattern_reads_a_megabyte_within_a_second(name: str) -> None:
    pattern, method = USES[name]
    for text in (*LONG.values(), *_Attack(pattern).texts()):
        with within(1):
            METHODS[method](pattern, text if isinstance(pattern.pattern, str) else text.encode())


@pytest.mark.parametrize("reader", READERS)
def test_a_megabyte_is_read_within_seconds(reader: str) -> None:
    for text in LONG.values():
        with within(2):
            READERS[reader](text)


@pytest.mark.parametrize(
    "text",
    [
        ",".join(f"a[1-{60000 - number}]" for number in range(60000)),
        ",".join(f"b{number}" for number in range(100000)),
    ],
    ids=["ranges", "names"],
)
def test_partitions_of_a_megabyte_are_judged_within_seconds(text: str) -> None:
    conf = f"NodeName=a[1-60000]\nPartitionName=p Nodes={text}\n"
    with within(5):
        assert judged(partition_references, spec("controller", extraConf=conf)).violations


@pytest.mark.parametrize("text", LONG)
def test_a_megabyte_is_searched_for_secrets_within_seconds(text: str) -> None:
    with within(3):
        secret_text.forms(secret_text.views.__wrapped__(LONG[text]))
