"""What a program gives a HybridCluster that it doesn't take: refused with the argument, the line and what to do."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pulumi
import pytest
from pulumi import Output

import components
import slinky_iac
from components.arguments import EXAMPLES
from components.inputs import address
from components.output_kinds import checked
from components.program_parts import HybridCluster, NodeSet
from components.takes import IMAGE
from slinky_iac.config.reading.load import examined
from tests.program import Recording, configured, run
from tests.unit.components.test_program_parts import KEYS, refused

OUTSIDE: dict[str, Any] = {"accounting": {"enabled": False}, "keys": {"source": "imported"}}
DATABASE: dict[str, Any] = {"accounting": {"database": {"host": "db.example.org"}}}


def made(**more: Any) -> Recording:
    with configured({}, KEYS):
        return run(lambda: HybridCluster("atlas", **{**OUTSIDE, **more}))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"cluster": {"name": "other"}}, "cluster.name: got 'other', while this HybridCluster's name is ClusterName"),
        (
            {"slurmctld": {"host": Output.from_input("a.example.org"), "port": 6900}},
            "slurmctld: takes a host, got a mapping: leave slurmctld out; a host with its port is given by"
            ' controller={"external": {"host": …, "port": …}}',
        ),
        (
            {"slurmctld": "a.example.org", "controller": {"external": {"host": "b.example.org"}}},
            "controller.external.host: is given by slurmctld too: leave one of them out",
        ),
        (
            {"slurmdbd": Output.from_input("a.example.org"), "accounting": {"external": {"host": address("10.0.0.1")}}},
            "accounting.external.host: is given by slurmdbd too",
        ),
        ({"opts": pulumi.ResourceOptions(ignore_changes=["nodesets"])}, "See owner: autoscaler"),
        (
            {"keys": "imported"},
            'keys: takes a mapping of names to settings, got a text; for example keys={"source": "imported"}',
        ),
    ],
)
def test_arguments_that_contradict_each_other_or_have_no_effect_are_refused(given: dict[str, Any], sentence: str) -> None:
    said = refused(lambda: HybridCluster("atlas", **{"slurmctld": "ctl.example.org", **OUTSIDE, **given}))
    assert sentence in said
    assert said.startswith("HybridCluster atlas (tests/unit/components/test_arguments.py:")


def test_the_port_and_spare_hosts_of_a_daemon_stay_beside_its_host() -> None:
    external = {"port": 6900, "backups": ["spare.example.org"]}
    recording = made(slurmctld="ctl.example.org", controller={"external": external})
    assert recording.one("slinky:slurm:Controller").name == "atlas-controller"
    (cluster,) = recording.of("slinky:slurm:HybridCluster")
    join = "ctl.example.org:6900,spare.example.org:6900"
    assert recording.outputs[cluster.urn]["slurmd_join"] == f"/usr/sbin/slurmd --conf-server {join}"
    assert made(slurmctld="a.example.org", cluster={"name": "atlas"}).of("slinky:slurm:HybridCluster")


def test_a_name_is_a_text() -> None:
    name: Any = Output.from_input("atlas")
    assert "HybridCluster" in refused(lambda: HybridCluster(name, **OUTSIDE))
    assert "name: takes a text, got an Output" in refused(lambda: NodeSet(name, cluster={"cluster": {"name": "a"}}))


def test_a_database_without_a_password_names_both_ways_to_give_one() -> None:
    said = refused(lambda: HybridCluster("atlas", **DATABASE))
    assert "`pulumi config set --secret slinky-iac:databasePassword`, or give database_password=OUTPUT" in said


def test_a_password_that_the_program_has_as_a_text_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """It may come from the configuration in plain text, too; what is a secret there is an Output."""

    def warnings(password: Any) -> list[str]:
        caplog.clear()
        with configured({}):
            run(lambda: HybridCluster("atlas", **DATABASE, database_password=password))
        said = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
        assert not any("hunter" in each for each in said)
        return [each for each in said if each.startswith("database_password: ")]

    assert len(warnings("hunter-and-prey")) == 1
    assert warnings(Output.secret("hunter-and-prey")) == []


@pytest.mark.parametrize("wrong", [components.HybridCluster, components.NodeSet])
def test_the_class_of_typed_arguments_says_which_one_takes_sections(wrong: Any) -> None:
    name = wrong.__name__
    for given in ({"slurmctld": "ctl.example.org"}, {"args": {"replicas": 1}}, {}):
        with pytest.raises(TypeError, match=rf"takes {name}Args.* slinky_iac\.{name}"):
            wrong("atlas", **given)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_in_messages_are_settings(name: str) -> None:
    example = json.loads(EXAMPLES[name])
    if name == "more":
        assert made(slurmctld="ctl.example.org", more=example).of("slinky:slurm:HybridCluster")
        return
    own = {"nodesets": {"cpu": {"replicas": 1, name: example}}} if name in {"resources", "pod"} else {name: example}
    sections: dict[str, Any] = {"cluster": {"name": "a"}, **own}
    sections["cluster"] = {"name": "a", **sections["cluster"]}
    assert examined(sections)[1] == ()


@pytest.mark.parametrize("name", ["HybridCluster", "NodeSet"])
def test_type_checkers_see_the_arguments_of_a_program_and_no_other_constructor(name: str) -> None:
    """pyright skips `__init__` where `__new__` is said to return another class, as a base class' own would be."""
    made = getattr(slinky_iac, name)
    own = [each.__new__ for each in made.__mro__ if "__new__" in vars(each) and each.__module__.startswith("components.")]
    assert own
    for each in own:
        signature = inspect.signature(each)
        assert signature.return_annotation == "Self"
        assert list(signature.parameters)[1] == "name"


@pytest.mark.parametrize("kind", [HybridCluster, NodeSet])
def test_a_missing_name_is_called_name(kind: Any) -> None:
    with pytest.raises(TypeError, match="argument: 'name'"):
        kind()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"slurmdbd": "dbd.example.org:6819"}, 'accounting={"external": {"host": "dbd.example.org", "port": 6819}}'),
        ({"slurmctld": "ctl.example.org:6817"}, 'controller={"external": {"host": "ctl.example.org", "port": 6817}}'),
        ({"slurmdbd": None, "accounting": None}, "slurmdbd=HOST gives external; it is None here, or left out"),
        ({"slurm_key": "not base64!"}, "slurm_key: is not base64"),
    ],
)
def test_the_next_step_is_the_argument_s(given: dict[str, Any], words: str) -> None:
    said = refused(
        lambda: HybridCluster("atlas", **{**OUTSIDE, **given}), {"jwtKey": KEYS["jwtKey"]} if "slurm_key" in given else KEYS
    )
    assert words in said
    assert "in `port`" not in said
    if "slurm_key" in given:
        (fault,) = (each for each in said.splitlines() if "slurm_key: " in each)
        assert "pulumi config set" not in fault


def test_an_output_that_is_no_image_is_told_what_one_is() -> None:
    with pytest.raises(pulumi.RunError, match="must be an image: repository:tag"):
        checked("a b", IMAGE, "nodesets.cpu.image")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda text: {"accounting": {"external": {"host": text}}}, "give the Output itself, or slinky_iac.address(OUTPUT)"),
        (lambda text: {"slurmctld": text}, 'pulumi.Output.format("{0}.example.org", OUTPUT)'),
        (lambda text: {"nodesets": {"a": {"replicas": 1, "image": text}}}, 'pulumi.Output.format("reg/{0}:1", OUTPUT)'),
        (
            lambda text: {"nodesets": {"a": {"replicas": 1, "pod": {"annotations": {"b": text}}}}},
            'pulumi.Output.format("prefix-{0}", OUTPUT)',
        ),
    ],
)
def test_an_f_string_leads_to_the_form_of_its_setting(given: Any, words: str) -> None:
    assert words in refused(lambda: HybridCluster("atlas", **{**OUTSIDE, **given(f"{Output.from_input('a')}")}))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"slurmctl": "ctl.example.org"}, "slurmctl: is not an argument; did you mean slurmctld?"),
        ({"NodeSets": {}}, "NodeSets: is not an argument; did you mean nodesets?"),
        ({"zone": "a"}, "zone: is not an argument; allowed here: name, slurmctld, slurmdbd, cluster"),
        (
            {"labels": {"a": "b"}},
            "labels: is not an argument; it is a setting of controller.pod, accounting.pod, restapi.pod, ",
        ),
        ({"replicas": 2}, "replicas: is not an argument; it is a setting of restapi, nodesets.NAME, logins.NAME"),
        ({"slurm_version": "25.11"}, "slurm_version: is not an argument; it is a setting of cluster"),
        (
            {"depends_on": []},
            "depends_on: is an option of Pulumi's resources: opts=pulumi.ResourceOptions(depends_on=…)",
        ),
        ({"protect": True}, "protect: is an option of Pulumi's resources: opts=pulumi.ResourceOptions(protect=…)"),
        ({"ignore_changes": []}, "ignore_changes: has no effect on a component: "),
    ],
)
def test_an_argument_that_is_not_there_is_named_with_the_one_that_is(given: dict[str, Any], sentence: str) -> None:
    said = refused(lambda: HybridCluster("atlas", **{**OUTSIDE, **given}))
    assert sentence in said
    assert said.startswith("HybridCluster atlas (tests/unit/components/test_arguments.py:")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "cluster: is needed: cluster=HYBRIDCLUSTER, as the program made it"),
        ({"replicas": 1}, "cluster: is needed: "),
        ({"cluster": None}, "cluster: is needed: "),
        (
            {"cluster": {"cluster": {"name": "a"}}, "replicas": 1, "depends_on": []},
            "depends_on: is an option of Pulumi's resources: opts=pulumi.ResourceOptions(depends_on=…)",
        ),
        (
            {"cluster": {"cluster": {"name": "a"}}, "replicas": 1, "delete_before_replace": True},
            "delete_before_replace: has no effect on a component: ",
        ),
        ({"cluster": {"cluster": {"name": "a"}}, "replicas": 1, "labels": {}}, "it is `nodesets.cpu.pod.labels`"),
    ],
)
def test_a_nodeset_is_told_what_it_needs_and_where_options_go(given: dict[str, Any], sentence: str) -> None:
    said = refused(lambda: NodeSet("cpu", **given))
    assert sentence in said
    assert said.startswith("NodeSet cpu (tests/unit/components/test_arguments.py:")
    assert "slurm_name, " not in said, "no list of all settings"


@pytest.mark.parametrize(
    ("name", "near"), [("Hybridcluster", "HybridCluster"), ("Nodeset", "NodeSet"), ("adress", "address")]
)
def test_a_name_that_the_package_does_not_have_is_named_with_the_one_that_it_has(name: str, near: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; did you mean {near}\\?"):
        getattr(slinky_iac, name)
    with pytest.raises(AttributeError, match="a program takes HybridCluster, NodeSet, address, hybrid_cluster"):
        _ = slinky_iac.zone  # type: ignore[attr-defined]
    assert slinky_iac.hybrid_cluster is components.program.hybrid_cluster


def test_an_attribute_of_a_cluster_that_is_not_there_is_named_with_the_one_that_is() -> None:
    said: list[str] = []

    def built() -> None:
        atlas: Any = HybridCluster("atlas", slurmctld="ctl.example.org", **OUTSIDE)
        with pytest.raises(AttributeError) as error:
            _ = atlas.slurmdJoin
        said.append(str(error.value))

    with configured({}, KEYS):
        run(built)
    assert said == ["slurmdJoin isn't an attribute of this resource; did you mean slurmd_join?"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"cluster": {"slurm_version": 26.05}}, 'quote it: "slurm_version": "26.05"'),
        ({"nodesets": {"gpu": {"replicas": 1, "gres": "gpu:a100:4"}}}, 'write "gres": ["gpu:a100:4"]'),
        ({"nodesets": {"gpu": {"replicas": 1, "volumes": [{"name": "a"}]}}}, 'write, for example, "mount_path": "/home"'),
    ],
)
def test_what_a_message_says_to_write_is_python(given: dict[str, Any], sentence: str) -> None:
    assert sentence in refused(lambda: HybridCluster("atlas", **{"slurmctld": "ctl.example.org", **OUTSIDE, **given}))


def test_a_partition_of_a_nodeset_that_joins_later_says_first_how_the_cluster_knows_it() -> None:
    partitions = {"long": {"nodesets": ["cpu", "gpu"]}}
    nodesets = {"cpu": {"replicas": 1}}
    said = refused(lambda: HybridCluster("atlas", slurmctld="a", **OUTSIDE, nodesets=nodesets, partitions=partitions))
    known = said.index("Write a NodeSet into `nodesets`, in a program in place of its NodeSet(…)")
    assert known < said.index("remove it from the list")
    assert "`slinky docs own-repository 'A NodeSet of its own'`" in said
