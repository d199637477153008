"""A value that an Output gives is judged when no line of the program runs any more. What is wrong with it is said with the
line all the same: that of the call which the Output was given to."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pulumi
import pytest
from pulumi import Output

from components import NodeSet as TypedNodeSet
from components import NodeSetArgs
from components.inputs import address
from components.program_parts import HybridCluster, NodeSet
from slinky_iac.config.reading.engine import ARGUMENTS
from slinky_iac.config.sections import Cluster, Operator
from slinky_iac.config.stack import ClusterConfig
from slinky_iac.config.workers import NodeSet as NodeSetSettings
from slinky_iac.config.workers import Resources
from tests.clusters import RAW_KEYS
from tests.unit.components.test_given_secrets import OUTSIDE as KEYED
from tests.unit.components.test_program_parts import KEYS, made, refused

OUTSIDE: dict[str, Any] = {"slurmctld": "ctl.example.org", "accounting": {"enabled": False}, "keys": {"source": "imported"}}
TEXT: Any = "two"


def later(known: object) -> Any:
    return Output.from_input(known)


def atlas(**arguments: Any) -> HybridCluster:
    return HybridCluster("atlas", **{**OUTSIDE, **arguments})


def beside(**settings: Any) -> None:
    NodeSet("gpu", cluster=atlas(), **settings)


def typed() -> None:
    cluster = ClusterConfig(cluster=Cluster(name="atlas"), operator=Operator(version="1.2.1"))
    settings = NodeSetSettings(replicas=1, resources=Resources(cpus="8"))
    TypedNodeSet("gpu", NodeSetArgs(cluster=cluster, name="gpu", settings=settings, replicas=later("2")))


OF_CLUSTER: tuple[tuple[dict[str, Any], str], ...] = (
    ({"slurmctld": later("not a host!")}, "controller.external.host: must be a host"),
    ({"slurmctld": address(later("ctl.example.org"))}, "controller.external.host: the Output that it is given is a name"),
    ({"nodesets": {"cpu": {"replicas": later(TEXT)}}}, "nodesets.cpu.replicas: the Output that it is given is the text"),
    ({"nodesets": {"cpu": {"replicas": later(1100)}}}, "with what the Outputs at nodesets.cpu.replicas give"),
    ({"slurm_key": Output.secret("dGlueQ==")}, "slurmKey: has 4 bytes"),
    ({"slurm_key": Output.secret(RAW_KEYS[0])}, "slurmKey: isn't a text"),
)


def ended(program: Callable[[], object], secrets: dict[str, str] | None = None) -> str:
    with pytest.raises(pulumi.RunError) as error:
        made(program, secrets)
    assert error.value.__suppress_context__, "a chained exception would print a traceback"
    return str(error.value)


def line_of(function: Callable[..., object]) -> int:
    """The number of the one line of a function that makes the component."""
    lines, first = inspect.getsourcelines(function)
    return first + len(lines) - 1


@pytest.mark.parametrize(("arguments", "sentence"), OF_CLUSTER)
def test_a_wrong_value_of_an_output_names_the_line_that_gave_it(arguments: dict[str, Any], sentence: str) -> None:
    own = {name: KEYS[name] for name in KEYS if ARGUMENTS[name] not in arguments}
    said = ended(lambda: atlas(**arguments), own)
    assert said.startswith(f"HybridCluster atlas ({place(atlas)}): {sentence}")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"replicas": later("2")}, "nodesets.gpu.replicas: the Output that it is given is the text '2'"),
        ({"replicas": 1, "image": later("no-tag")}, "nodesets.gpu.image: must be an image"),
    ],
)
def test_a_nodeset_beside_the_cluster_names_its_own(settings: dict[str, Any], sentence: str) -> None:
    assert ended(lambda: beside(**settings)).startswith(f"NodeSet gpu ({place(beside)}): {sentence}")


def test_a_nodeset_with_typed_arguments_does_so_too() -> None:
    assert ended(typed).startswith(f"NodeSet gpu ({place(typed)}): nodesets.gpu.replicas: ")


def place(function: Callable[..., object]) -> str:
    return f"tests/unit/components/{__name__.rpartition('.')[2]}.py:{line_of(function)}"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (RAW_KEYS[0], "slurm_key: got bytes; takes a text of base64, or an Output of one: base64.b64encode(RAW).decode()"),
        (7, "slurm_key: got a number; takes a text of base64, or an Output of one"),
        ({"value": "x"}, "slurm_key: got a mapping; takes a text of base64, or an Output of one"),
    ],
)
def test_a_secret_that_is_no_text_is_refused_before_anything_is_made(value: object, sentence: str) -> None:
    given: Any = value
    said = refused(lambda: HybridCluster("atlas", **{**KEYED, "slurm_key": given}), {"jwtKey": KEYS["jwtKey"]})
    assert re.match(r"HybridCluster atlas \(\S+\.py:\d+\): 1 error in its arguments:\n", said)
    assert sentence in said


def test_one_that_is_no_key_is_a_text() -> None:
    given: Any = b"pass"
    arguments: dict[str, Any] = {"accounting": {"database": {"host": "db.example.org"}}}
    said = refused(lambda: HybridCluster("atlas", **arguments, database_password=given), {})
    assert "database_password: got bytes; takes a text, or an Output of one: BYTES.decode()" in said
