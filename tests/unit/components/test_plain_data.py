"""What a program gives that isn't plain data is refused with its path, what it is and what the setting takes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi import Output
from pulumi_kubernetes.core.v1 import TolerationArgs

from components.inputs import address
from components.program_parts import HybridCluster, NodeSet
from slinky_iac.config.workers import Resources
from tests.unit.components.test_program_parts import OUTSIDE, made, refused


@dataclass
class Site:
    """A class of a program's own."""

    replicas: int = 2


class Word(Enum):
    """No StrEnum: its members aren't texts."""

    KEEP = "keep"


def said_of(nodeset: Any = None, **more: Any) -> str:
    nodesets = {"nodesets": {"cpu": nodeset}} if nodeset is not None else {}
    whole = {"slurmctld": "ctl.example.org", "accounting": {"enabled": False}, **OUTSIDE, **nodesets, **more}
    return refused(lambda: HybridCluster("atlas", **whole))


@pytest.mark.parametrize(
    ("nodeset", "sentence"),
    [
        ({"features": {"a", "b"}}, 'nodesets.cpu.features: got a set; takes a list of text: features=["a", "b"]'),
        (Site(), "nodesets.cpu: got an object of class Site; takes a mapping"),
        ({"resources": Site()}, "nodesets.cpu.resources: got an object of class Site; takes a mapping"),
        ({"image": Path("/a")}, "nodesets.cpu.image: got a path; takes a text: str(PATH)"),
        ({"image": b"a"}, "nodesets.cpu.image: got bytes; takes a text: BYTES.decode()"),
        (
            {"drain": {"deadline": timedelta(hours=2)}},
            "nodesets.cpu.drain.deadline: got a timedelta; takes seconds, or a text",
        ),
        ({"drain": {"on_deadline": Word.KEEP}}, "nodesets.cpu.drain.onDeadline: got an Enum of class Word; takes a text"),
        ({"replicas": 2j}, "nodesets.cpu.replicas: got an object of class complex; takes a whole number"),
        ({"features": (each for each in "ab")}, "nodesets.cpu.features: got a generator; takes a list of text"),
        ({"features": [Site()]}, "nodesets.cpu.features.0: got an object of class Site; takes a text"),
        ({"image": lambda: "a"}, "nodesets.cpu.image: got a function; takes a text"),
        (
            {"pod": {"tolerations": [TolerationArgs(key="a")]}},
            "nodesets.cpu.pod.tolerations.0: got an object of class TolerationArgs; takes a mapping",
        ),
        ({"extra_conf": {"Weight": Site()}}, "nodesets.cpu.extraConf.Weight: got an object of class Site; takes"),
        ({"imagge": Site()}, "imagge: is not a setting"),
    ],
)
def test_what_is_no_plain_data_is_refused_by_its_path(nodeset: Any, sentence: str) -> None:
    assert sentence in said_of(nodeset)


OUTPUT = Output.from_input("a")
FORMAT = 'pulumi.Output.format("reg/{0}:1", OUTPUT)'


@pytest.mark.parametrize(
    ("nodeset", "sentence"),
    [
        (
            {"image": {"repository": OUTPUT, "tag": "1"}},
            f"image: got a mapping with an Output in it; takes a text: write {FORMAT}",
        ),
        ({"image": [OUTPUT]}, f"image: got a list with an Output in it; takes a text: write {FORMAT}"),
        ({"image": [address(OUTPUT)]}, "image: got a list with an Output in it; takes a text"),
        ({"image": {"a": [{"b": OUTPUT}]}}, "image: got a mapping with an Output in it; takes a text"),
        (
            {"replicas": {"min": OUTPUT}},
            "replicas: got a mapping with an Output in it; takes a whole number: give the Output itself",
        ),
        ({"features": {"a": OUTPUT}}, "features: got a mapping with an Output in it; takes a list of text"),
        ({"pod": [OUTPUT]}, "pod: got a list with an Output in it; takes a mapping"),
        ({"pod": {"node_selector": [OUTPUT]}}, "pod.nodeSelector: got a list with an Output in it; takes a mapping"),
        ({"pod": {"tolerations": {"value": OUTPUT}}}, "pod.tolerations: got a mapping with an Output in it; takes a list"),
        ({"extra_conf": {"Weight": {"a": OUTPUT}}}, "extraConf.Weight: got a mapping with an Output in it; takes a text"),
        (
            {"env": {"A": {"value": OUTPUT}}},
            "env.A: got a mapping with an Output in it; takes a text: give the Output itself",
        ),
        (
            {"partition": {"enabled": {"a": OUTPUT}}},
            "partition.enabled: got a mapping with an Output in it; takes True or False",
        ),
        ([OUTPUT], "nodesets.cpu: got a list with an Output in it; takes a mapping"),
    ],
)
def test_an_output_in_what_the_setting_does_not_take_is_refused_at_the_setting(nodeset: Any, sentence: str) -> None:
    """Not below it, at a path that no setting has."""
    said = said_of(nodeset)
    assert sentence in said
    assert "can't be an Output" not in said


@pytest.mark.parametrize("host", [{"host": OUTPUT, "port": 1}, [OUTPUT], {"host": "a"}, 5, True, Site()])
@pytest.mark.parametrize("daemon", ["slurmctld", "slurmdbd"])
def test_what_is_no_host_is_refused_by_the_argument_that_was_written(daemon: str, host: Any) -> None:
    said = said_of(**{"accounting": {}, daemon: host})
    assert f"{daemon}: takes a host, got " in said
    assert ".external.host" not in said


def test_a_path_in_the_wrong_form_shows_one_that_looks_like_a_path() -> None:
    assert '"kubeconfig": "/folder/name"' in said_of(kubernetes={"kubeconfig": {"a": "b"}})


@pytest.mark.parametrize("name", ["cluster", "controller", "accounting", "keys", "nodesets", "more"])
def test_no_section_may_be_an_object(name: str) -> None:
    section: Any = Site()
    assert f"{name}: takes a mapping of names to settings, got an object of class Site" in said_of(**{name: section})


def test_no_section_of_which_a_part_is_needed_at_once_may_be_an_output() -> None:
    for name in ("cluster", "controller", "accounting"):
        assert f"{name}: can't be an Output" in said_of(**{name: Output.from_input({})})
    said = said_of(kubernetes=Output.from_input("apiVersion: v1"))
    assert 'kubernetes: can\'t be an Output: it decides what is made. Give kubernetes={"context": "hpc"}' in said


def test_a_nodeset_of_its_own_says_the_same() -> None:
    own: dict[str, Any] = {"replicas": 2, "features": {"a"}}
    said = refused(lambda: NodeSet("cpu", cluster={"cluster": {"name": "a"}}, **own))
    assert 'nodesets.cpu.features: got a set; takes a list of text: features=["a", "b"]' in said


def test_a_resource_is_no_setting_and_its_outputs_are() -> None:
    blank = pulumi.ComponentResource.__new__(pulumi.ComponentResource)  # none is registered here
    said = said_of({"image": blank})
    assert "nodesets.cpu.image: got a resource of class ComponentResource; takes a text: give one of the" in said


def test_a_section_that_is_an_object_of_the_settings_own_class_is_taken() -> None:
    cluster: dict[str, Any] = {"slurmctld": "ctl.example.org", "accounting": {"enabled": False}, **OUTSIDE}
    nodesets = {"cpu": {"replicas": 2, "resources": Resources(cpus="8")}}
    recording = made(lambda: HybridCluster("atlas", **{**cluster, "nodesets": nodesets}))
    (nodeset,) = recording.of("kubernetes:slinky.slurm.net/v1beta1:NodeSet")
    assert nodeset.inputs["spec"]["slurmd"]["resources"]["limits"]["cpu"] == "8"


def test_two_spellings_of_one_setting_are_refused() -> None:
    twice = {"extra_conf": {"Weight": "1"}, "extraConf": {"Weight": "2"}}
    assert "nodesets.cpu.extraConf: extra_conf and extraConf are one setting; remove one" in said_of(twice)
    more = {"nodeset_defaults": {"replicas": 1}, "nodesetDefaults": {"replicas": 2}}
    assert "nodesetDefaults: nodeset_defaults and nodesetDefaults are one setting; remove one" in said_of(more=more)


def test_a_section_is_given_by_its_argument_or_in_more() -> None:
    said = said_of({"replicas": 1}, more={"nodesets": {"gpu": {"replicas": 1}}})
    assert "more.nodesets: is given by the argument nodesets too; remove one" in said


def test_a_text_made_of_an_output_names_the_way_to_make_it() -> None:
    output = Output.from_input("a")
    assert 'nodesets.cpu.image: is an f-string of an Output; write pulumi.Output.format("reg/{0}:1", OUTPUT)' in said_of(
        {"image": f"reg/{output}:1"}
    )
    assert "nodesets.cpu.features.0: is an f-string of an Output, and can't be an Output: " in said_of(
        {"features": [f"{output}"]}
    )
    assert "controller.external.host: is an f-string of an Output; " in said_of(slurmctld=f"{output}.example.org")
    assert "database_password: is an f-string of an Output" in said_of(database_password=f"{output}")
    assert "name: is an f-string of an Output" in refused(lambda: HybridCluster(f"{output}", **OUTSIDE))


@pytest.mark.parametrize("name", [Output.from_input("a"), f"gpu-{Output.from_input('a')}"])
def test_a_name_that_an_output_gives_is_refused_as_one_and_hides_nothing_else(name: Any) -> None:
    said = said_of(nodesets={name: {"replicas": 2}})
    assert "nodesets: has a name that is made of an Output. Names of settings must be known before anything is made" in said
    assert "characters" not in said
    labels = said_of({"replicas": 1, "pod": {"node_selector": {name: "x"}}})
    assert "nodesets.cpu.pod.nodeSelector: has a name that is made of an Output" in labels


def test_a_resource_in_place_of_a_host_says_which_of_its_outputs() -> None:
    said = said_of(slurmctld=pulumi.ComponentResource("a:b:C", "vm"))
    assert "slurmctld: got a resource of class ComponentResource; takes a host: give one of the resource's outputs" in said


def test_options_that_are_no_resource_options_are_refused_with_what_to_write() -> None:
    sentence = "opts: takes pulumi.ResourceOptions(…), got a mapping: opts=pulumi.ResourceOptions(depends_on=…)"
    opts: Any = {"depends_on": []}
    assert sentence in refused(lambda: HybridCluster("atlas", **OUTSIDE, opts=opts))
    cluster = {"cluster": {"name": "atlas"}}
    assert sentence in refused(lambda: NodeSet("cpu", cluster=cluster, replicas=1, opts=opts))


@pytest.mark.parametrize(
    ("nodeset", "sentence"),
    [
        ({"replicas": None}, 'for example "replicas": 2, or leave it out'),
        ({"partition": "long"}, 'example, "partition": {"config": {"MaxTime": "2-00:00:00", "OverSubscribe": "EXCLUSIVE"}}'),
        ({"features": "a,b-1"}, 'must be a list, got a text: write "features": ["a", "b-1"]'),
        ({"env": ["A=b"]}, 'write, for example, "env": {"OMP_NUM_THREADS": "8"}'),
        ({"pod": {"labels": ["a=b"]}}, 'write, for example, "labels": {"NAME": "name"}'),
        (
            {"pod": {"tolerations": {"key": "a"}}},
            '"tolerations": [{"key": "example.org/slurm", "operator": "Exists", "effect": "NoSchedule"}]',
        ),
    ],
)
def test_a_mapping_that_a_program_is_to_write_is_python(nodeset: Any, sentence: str) -> None:
    assert sentence in said_of({"replicas": 1, **nodeset})


def test_a_word_that_is_a_setting_elsewhere_is_named_in_snake_case() -> None:
    assert "it is `nodesets.cpu.update_strategy.max_unavailable`" in said_of({"replicas": 1, "max_unavailable": 1})
    assert "it is `nodesets.cpu.updateStrategy.maxUnavailable`" in said_of({"replicas": 1, "maxUnavailable": 1})


def test_a_misspelt_argument_names_the_one_in_snake_case() -> None:
    assert "did you mean on_deadline?" in said_of({"replicas": 1, "drain": {"on_dedline": "keep"}})
    assert "did you mean onDeadline?" in said_of({"replicas": 1, "drain": {"onDedline": "keep"}})
    allowed = said_of({"replicas": 1, "drain": {"zzz": "keep"}})
    assert "allowed here: deadline, " in allowed
    assert "register_deadline" in allowed


@pytest.mark.parametrize(
    ("sections", "sentence"),
    [
        (
            {"keys": {"slurm_key": Output.secret("x")}},
            "keys.slurm_key: is given by an argument of HybridCluster: slurm_key=OUTPUT",
        ),
        ({"keys": {"jwtKey": Output.secret("x")}}, "keys.jwtKey: is given by an argument of HybridCluster: jwt_key=OUTPUT"),
        (
            {"accounting": {"database": {"host": "db", "password": Output.secret("x")}}},
            "accounting.database.password: is given by an argument of HybridCluster: database_password=OUTPUT",
        ),
    ],
)
def test_a_secret_output_among_settings_is_not_called_leaked(sections: Any, sentence: str) -> None:
    said = said_of({"replicas": 1}, **sections)
    assert sentence in said
    assert "leaked" not in said


def test_two_spellings_hide_no_other_mistake() -> None:
    said = said_of({"extra_conf": {"Weight": "1"}, "extraConf": {"Weight": "2"}, "Replicas": 1})
    assert "extra_conf and extraConf are one setting" in said
    assert "nodesets.cpu.Replicas: is not a setting; did you mean replicas?" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            {"slurmctld": ["a", "b"]},
            'slurmctld: takes a host, got a list: give the primary; the others go in controller={"external": {"',
        ),
        (
            {"slurmdbd": ("a", 6819)},
            "slurmdbd: takes a host, got a tuple: leave slurmdbd out; a host with its port is given by",
        ),
    ],
)
def test_several_hosts_or_one_with_its_port_lead_to_the_section(arguments: Any, sentence: str) -> None:
    assert sentence in said_of({"replicas": 1}, **arguments)


def test_an_address_made_of_an_output_is_not_taken_for_a_name() -> None:
    said = said_of({"replicas": 1}, slurmctld=address(f"{Output.from_input('10.0.0.1')}"))
    assert (
        "controller.external.host: is an f-string of an Output; give the Output itself: slinky_iac.address(OUTPUT)" in said
    )


@pytest.mark.parametrize(
    "nodesets", [Output.from_input({"cpu": {"replicas": 1}}), {"cpu": Output.from_input({"replicas": 1})}]
)
def test_an_output_of_a_whole_section_says_where_outputs_go(nodesets: Any) -> None:
    assert "can't be an Output: it decides what is made. Write it in the program, with Outputs as values" in said_of(
        nodesets=nodesets
    )
