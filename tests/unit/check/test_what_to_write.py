"""A message about a value of a wrong type says what to write, and one about a strange word leads to its setting."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from pydantic import BaseModel, TypeAdapter

from slinky_iac.config.reading.levels import is_by_name, model_in
from slinky_iac.config.reading.load import examined
from slinky_iac.config.reading.such_as import _annotation, such_as
from slinky_iac.config.stack import StackConfig
from tests.stacks import minimal


def said(**more: Any) -> dict[str, str]:
    _, found = examined({**minimal(), **more})
    return {each.path: each.message for each in found}


def places(model: type[BaseModel], path: tuple[str | int, ...] = (), depth: int = 0) -> list[tuple[str | int, ...]]:
    """Every setting, with a name for those that users choose and the first place of a list."""
    found: list[tuple[str | int, ...]] = []
    for name, field in model.model_fields.items():
        here = (*path, field.alias or name)
        found.append(here)
        inner = model_in(field.annotation)
        if inner is None or depth > 4:
            continue
        if is_by_name(field.annotation):
            here = (*here, 0 if "tuple" in str(field.annotation) else "name")
            found.append(here)
        found += places(inner, here, depth + 1)
    return found


def test_each_example_is_a_right_value_of_its_setting() -> None:
    shown = {location: text for location in places(StackConfig) if (text := such_as(location))}
    assert len(shown) > 150
    for location, text in shown.items():
        read = yaml.safe_load(text)
        value = (
            read[0]
            if isinstance(read, list)
            else read["NAME" if location[-1] == "name" and "NAME" in read else location[-1]]
        )
        path = tuple("*" if isinstance(part, int) else part for part in location)
        TypeAdapter(_annotation(path)).validate_python(value)


def test_every_mapping_and_list_of_settings_has_an_example() -> None:
    without = [
        location
        for location in places(StackConfig)
        if model_in(_annotation(tuple("*" if isinstance(part, int) else part for part in location))) is not None
        and not such_as(location)
    ]
    assert without == []


GPU = {"replicas": 1}


@pytest.mark.parametrize(
    ("more", "path", "words"),
    [
        ({"drain": "30m"}, "drain", "drain: {deadline: 2h}"),
        ({"networkPolicies": True}, "networkPolicies", "networkPolicies: {enabled: true}"),
        ({"partitions": [{"name": "long"}]}, "partitions", "partitions: {long: {nodesets: [cpu]}}"),
        ({"partitions": {"long": {"nodesets": "cpu"}}}, "partitions.long.nodesets", "write nodesets: [cpu]"),
        ({"keys": {"slurmKeyFrom": "NAME"}}, "keys.slurmKeyFrom", "slurmKeyFrom: {secret: "),
        ({"external": {"slurmdHosts": ["metal-01"]}}, "external.slurmdHosts.0", "- {name: "),
        ({"external": {"slurmdHosts": {"metal-01": {}}}}, "external.slurmdHosts", "slurmdHosts: [{name: "),
        ({"acknowledged": ["host-network"]}, "acknowledged", "acknowledged: {"),
        ({"controller": {"prolog": "/etc/slurm/prolog.sh"}}, "controller.prolog", "prolog: {10-scratch.sh: "),
        ({"controller": {"prolog": {"p.sh": {"file": "a"}}}}, "controller.prolog.p.sh", "got a mapping"),
        ({"logins": {"a": {"replicas": 1, "service": "LoadBalancer"}}}, "logins.a.service", "service: {type: "),
        ({"jobs": {"b": {"script": "#!/bin/sh"}}}, "jobs.b.script", "script: {"),
        ({"identity": {"passwd": {"users": ["dave"]}}}, "identity.passwd.users", "users: {"),
        (
            {"nodesets": {"gpu": {"replicas": None}}},
            "nodesets.gpu.replicas",
            "give it a value, for example replicas: ",
        ),
        (
            {"controller": {"external": {"host": None}}},
            "controller.external.host",
            "give it a value, for example host: ",
        ),
        (
            {"nodesets": {"gpu": {**GPU, "volumes": {"home": {}}}}},
            "nodesets.gpu.volumes",
            "volumes: [{name: home, mountPath",
        ),
        ({"controller": {"extraConf": ["a"]}}, "controller.extraConf", "extraConf: {"),
    ],
)
def test_a_wrong_type_says_what_to_write(more: dict[str, Any], path: str, words: str) -> None:
    message = said(**more)[path]
    assert words in message
    assert f"it is `{path}`" not in message


@pytest.mark.parametrize(
    ("more", "path", "words"),
    [
        ({"nodesets": {"gpu": {**GPU, "pod": {"annotations": {"example.org/rev": 5}}}}}, "rev", 'example.org/rev: "5"'),
        ({"controller": {"prolog": {"p.sh": 5}}}, "controller.prolog.p.sh", "write `p.sh: |`"),
    ],
)
def test_the_whole_key_is_quoted(more: dict[str, Any], path: str, words: str) -> None:
    (message,) = (each for at, each in said(**more).items() if at.endswith(path))
    assert words in message


@pytest.mark.parametrize(
    ("nodeset", "path", "words"),
    [
        ({"minReplicas": 0}, "nodesets.gpu.minReplicas", "it is `autoscale.minReplicas`"),
        ({"partitions": ["long"]}, "nodesets.gpu.partitions", "the other way round: `partitions.NAME.nodesets: [gpu]`"),
        (
            {"volumes": [{"name": "a", "mountPath": "/a", "nfs": {"server": "s", "path": "/"}}]},
            "nodesets.gpu.volumes.0.nfs",
            "goes below `source`: source: {nfs: …}",
        ),
        (
            {"owner": "autoscaler", "autoscale": {"max": 4}},
            "nodesets.gpu.autoscale.max",
            "it is `maxReplicas` of the NodeSet",
        ),
    ],
)
def test_a_word_of_another_level_leads_to_that_level(nodeset: dict[str, Any], path: str, words: str) -> None:
    messages = said(nodesets={"gpu": {**GPU, **nodeset}})
    assert words in messages[path]
    assert "did you mean" not in messages[path]
    assert not any("is missing" in each for each in messages.values())


@pytest.mark.parametrize(
    ("more", "path", "words"),
    [
        ({"keys": {"source": "existing", "slurmKeyFrom": {"name": "a"}}}, "keys.slurmKeyFrom.name", "it is `secret`"),
        ({"partitions": {"long": {"maxTime": "1-0"}}}, "partitions.long.maxTime", "it is `config.MaxTime`"),
        ({"partitions": {"long": {"MaxTime": "1-0"}}}, "partitions.long.MaxTime", "it is `config.MaxTime`"),
    ],
)
def test_a_word_of_kubernetes_or_slurm_leads_to_ours(more: dict[str, Any], path: str, words: str) -> None:
    assert words in said(**more)[path]


def test_a_name_that_may_be_a_secret_is_in_no_example_and_in_no_advice() -> None:
    secret = "hunter2hunter2hunter2hunter2hunter2hunter2"
    for value in (5, {}, ["a"]):
        messages = said(nodesets={"gpu": {**GPU, "pod": {"annotations": {secret: value}}}, secret: value})
        assert messages
        assert secret[:13] not in repr(messages)
