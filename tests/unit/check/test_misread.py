"""What Pulumi reads otherwise than it looks is an error, and what it reads as it looks is none: names, octal numbers, tabs,
aliases, dates, truth values in the place of numbers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from slinky_iac.commands.check import judge
from slinky_iac.config.findings import Level
from slinky_iac.config.reading.stack_file import parse
from slinky_iac.config.sections import Keys
from slinky_iac.config.stack import StackConfig
from slinky_iac.config.workers import NodeSet

HEAD = "config:\n  slinky-iac:cluster: {name: lab}\n  slinky-iac:accounting: {enabled: false}\n"


def nodeset(lines: str) -> str:
    return f"{HEAD}  slinky-iac:nodesets:\n    cpu:\n      resources: {{cpus: 4, memory: 8Gi}}\n      {lines}\n"


def errors(text: str) -> list[str]:
    return [str(f) for f in (place.finding for place in judge(text)[1]) if f.level is Level.ERROR]


def numbers(model: type[BaseModel], seen: set[type]) -> Iterator[tuple[type[BaseModel], str, bool]]:
    """Fields of all sections that take a number and no truth value, and whether they have one for each name."""
    if model in seen:
        return
    seen.add(model)
    for name, field in model.model_fields.items():
        kinds = set(flat(field.annotation))
        if kinds & {int, float} and bool not in kinds:
            yield model, field.alias or name, get_origin(field.annotation) is dict
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from numbers(kind, seen)


def flat(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) in (Union, UnionType, dict, tuple, list) or get_args(annotation):
        for each in get_args(annotation):
            yield from flat(each)
    elif annotation is not NoneType:
        yield annotation


NUMBERS = list(numbers(StackConfig, set()))


@pytest.mark.parametrize(("model", "field", "by_name"), NUMBERS, ids=lambda each: getattr(each, "__name__", str(each)))
def test_no_number_takes_a_truth_value(model: type[BaseModel], field: str, by_name: bool) -> None:
    """`replicas: true` was a scale-in to 1."""
    with pytest.raises(ValidationError) as caught:
        model.model_validate({field: {"a/b": True} if by_name else True})
    assert [each for each in caught.value.errors() if each["loc"] and each["loc"][0] == field]


def test_a_program_gives_no_truth_value_for_a_number() -> None:
    with pytest.raises(ValidationError, match="replicas"):
        NodeSet(replicas=True)
    assert NodeSet(replicas=1).replicas == 1
    assert len(NUMBERS) > 40


def test_a_section_asked_again_for_its_schema_has_one_guard_around_each_number() -> None:
    """Each `such_as` asks. With one more guard each time, what was made of settings later ran out of recursion."""
    guards = []
    for _ in range(3):
        adapter = TypeAdapter(NodeSet | None)
        adapter.validate_python(None)
        guards.append(str(adapter.core_schema).count("_no_truth"))
    assert guards == [guards[0]] * 3
    assert guards[0] > 5


@pytest.mark.parametrize("word", ["true", "TRUE", "false"])
def test_replicas_true_is_refused_as_it_is_written(word: str) -> None:
    assert errors(nodeset(f"replicas: {word}")) == [f"nodesets.cpu.replicas: must be a whole number, got {word.lower()}"]


@pytest.mark.parametrize("written", ["2", "2.0", "'2'", "0x2", "+2"])
def test_a_number_in_another_form_is_sound(written: str) -> None:
    assert errors(nodeset(f"replicas: {written}")) == []


def test_an_amount_that_is_a_truth_value_is_named_as_the_file_has_it() -> None:
    (said,) = errors(nodeset("replicas: 1").replace("cpus: 4", "cpus: true"))
    assert said.startswith("nodesets.cpu.resources.cpus: got true; an amount is a number")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("replicas: 010", "is written 010, which is octal, and Pulumi reads 8: write 10 or 8"),
        ("replicas: 0300", "write 300 or 192"),
        ("replicas: 1\n      features: [010]", "write 10 or 8"),
        ("replicas: 1\n      extraConf: {Weight: 0300}", "write 300 or 192"),
        ("replicas: .inf", "pulumi refuses the file"),
        ("replicas: .nan", "pulumi refuses the file"),
        ("replicas: 1\n      pod: {labels: {1.50: a}}", "is written 1.50, and Pulumi reads the name 1.5"),
        ("replicas: 1\n      pod: {labels: {TRUE: a}}", "reads the name true"),
        ("replicas: 1\n      pod: {labels: {~: a}}", "reads the name <nil>"),
    ],
)
def test_a_word_that_pulumi_reads_otherwise_is_one_error(written: str, said: str) -> None:
    (found,) = errors(nodeset(written))
    assert said in found


@pytest.mark.parametrize("word", ["0o300", "0x12c", "1_000", "300", "09", "0", "00", "'0300'"])
def test_a_word_that_is_read_as_it_looks_is_none(word: str) -> None:
    assert errors(nodeset(f"replicas: 1\n      extraConf: {{Weight: {word}}}")) == []


def test_the_mode_of_a_file_is_octal() -> None:
    source = "{configMap: {name: c, defaultMode: 0440, items: [{key: a, path: b, mode: 0400}]}}"
    assert errors(nodeset(f"replicas: 1\n      volumes: [{{name: x, mountPath: /x, source: {source}}}]")) == []


def test_a_name_that_is_a_number_is_a_text() -> None:
    """It ended in a traceback, or its paste took the label's value away."""
    text = nodeset("replicas: 1\n      pod: {labels: {5: web}}").replace("cpu:", "1:")
    assert errors(text) == []
    assert parse(text).sections["nodesets"]["1"]["pod"] == {"labels": {"5": "web"}}
    assert errors(f"{HEAD}  slinky-iac:partitions:\n    2026: {{nodesets: []}}\n") == errors(
        f"{HEAD}  slinky-iac:partitions:\n    a: {{nodesets: []}}\n".replace(" a:", " '2026':")
    )


def test_names_that_are_one_to_pulumi_are_there_twice() -> None:
    (said,) = errors(nodeset('replicas: 1\n      pod: {labels: {1: a, "1": b}}'))
    assert "is there twice" in said


@pytest.mark.parametrize("line", ["name: lab\t# ours", "name:\tlab", "images: {pullSecrets: [a,\tb\t]}\n    name: lab"])
def test_a_tab_between_words_is_sound(line: str) -> None:
    text = HEAD.replace("slinky-iac:cluster: {name: lab}", f"slinky-iac:cluster:\n    {line}")
    assert errors(text) == []


@pytest.mark.parametrize("line", ["\tname: lab", "name: lab\n\t# ours", "images:\n    -\ta"])
def test_a_tab_that_indents_is_refused(line: str) -> None:
    assert len(errors(HEAD.replace("slinky-iac:cluster: {name: lab}", f"slinky-iac:cluster:\n    {line}"))) == 1


@pytest.mark.parametrize("inner", ["{images: *a}", "{pod: [*a]}", "[{x: *a}]", "{<<: *a}"])
def test_an_alias_in_its_own_anchor_is_said(inner: str) -> None:
    """It ended in a traceback."""
    (said,) = errors(f"config:\n  slinky-iac:cluster: &a {inner}\n")
    assert said.startswith("pulumi refuses the file")


def test_aliases_that_multiply_end_at_once() -> None:
    lines = "".join(f"  {chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(8))
    began = time.process_time()
    (said,) = errors(f"config:\n  a: &a [x,x,x,x,x,x,x,x,x]\n{lines}")
    assert "its aliases stand for" in said
    assert time.process_time() - began < 10


def test_an_anchor_may_have_many_aliases() -> None:
    sets = "".join(f"    n{i}: {{<<: *of, replicas: 2}}\n" for i in range(300))
    text = nodeset("replicas: 1").replace("    cpu:", "    cpu: &of") + sets
    assert errors(text) == []


@pytest.mark.parametrize("day", ["2026-11-22", "'2026-11-22'"])
def test_a_day_needs_no_quotes(day: str) -> None:
    """Without them Pulumi gives the program 2026-11-22 00:00:00 +0000 UTC, which it refused."""
    config, _ = judge(f"{HEAD}  slinky-iac:restapi:\n    tls: {{source: generated, since: {day}}}\n")
    assert config is not None
    assert str(config.restapi.tls.since) == "2026-11-22"


@pytest.mark.parametrize("moment", ["2026-11-22T10:00:00Z", "'2026-11-22T10:00:00Z'"])
def test_a_moment_needs_no_quotes(moment: str) -> None:
    keys = f"{{source: external, madeBy: platform, acceptedChange: {moment}}}"
    read = parse(f"{HEAD}  slinky-iac:keys: {keys}\n").sections["keys"]
    found = Keys.model_validate(read)
    assert found.accepted_change == "2026-11-22T10:00:00Z"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("resources: {cpus: 16M, memory: 8Gi}", "CPUs are counted one by one"),
        ("resources: {cpus: 4, memory: 8Gi, extended: {hugepages-2Mi: 5120Mi}}", "raw.container.resources.limits"),
        ("volumes: [{name: x, mountPath: /x, source: {nfs: {server: 'nfs:/export', path: /home}}}]", "goes in path"),
        ("raw: {container: {securityContext: {capabilities: {add: [CAP_SYS_PTRACE]}}}}", "Kubernetes' name is SYS_PTRACE"),
    ],
)
def test_what_no_pod_could_start_with_is_an_error(line: str, said: str) -> None:
    text = f"{HEAD}  slinky-iac:nodesets:\n    cpu:\n      replicas: 1\n      {line}\n"
    (found,) = errors(text)
    assert said in found


@pytest.mark.parametrize(
    "line",
    [
        "resources: {cpus: 15500m, memory: 8Gi}",
        "volumes: [{name: x, mountPath: /x, source: {nfs: {server: '2001:db8::5', path: /home}}}]",
        "raw: {container: {securityContext: {capabilities: {add: [SYS_PTRACE]}}}}",
        "resources: {cpus: 4, memory: 8Gi}\n      raw: {container: {resources: {limits: {hugepages-2Mi: 5120Mi}}}}",
    ],
)
def test_the_right_form_of_it_is_sound(line: str) -> None:
    assert errors(f"{HEAD}  slinky-iac:nodesets:\n    cpu:\n      replicas: 1\n      {line}\n") == []


def test_a_block_text_of_one_line_is_that_line() -> None:
    block = f"{HEAD}  slinky-iac:controller:\n    extraConf:\n      SchedulerParameters: |\n        bf_continue\n"
    config, _ = judge(block)
    assert config is not None
    assert config.controller.extra_conf == {"SchedulerParameters": "bf_continue"}
    assert len(errors(f"{block}        bf_window=2880\n")) == 1


def test_a_long_field_of_kubernetes_is_named_whole() -> None:
    terms = "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Equals, values: [b]}]}]}"
    affinity = f"{{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {terms}}}}}"
    (found,) = errors(nodeset(f"replicas: 1\n      pod: {{affinity: {affinity}}}"))
    assert ".requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms" in found
