"""From the engine's strings to settings: plain-text secrets and secret settings are refused, and no message shows one."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pulumi
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pulumi.runtime.config import set_all_config

from slinky_iac.config.leaked import given_again
from slinky_iac.config.reading.engine import KeyOutputs, StackRefused, StackSettings, read_stack
from slinky_iac.config.stack import PROJECT, SECRET_KEYS, StackConfig
from tests.program import in_program
from tests.raw_keys import text_key
from tests.stacks import minimal, outside
from tests.unit.examples import examples

RAW = (bytes(range(64)), bytes(range(64, 128)))
KEYS = {"slurmKey": base64.b64encode(RAW[0]).decode(), "jwtKey": base64.b64encode(RAW[1]).decode()}
SENTINEL = "tops3cretvalue"


@pytest.fixture(autouse=True)
def _no_config_is_left_behind() -> Iterator[None]:
    yield
    set_all_config({}, [])


def configure(data: dict[str, Any], secrets: dict[str, str] | None = None, also_secret: tuple[str, ...] = ()) -> None:
    """Set configuration as the language host does: sections as JSON texts, and the list of secret keys."""
    values = {f"{PROJECT}:{name}": v if isinstance(v, str) else json.dumps(v) for name, v in data.items()}
    values |= {f"{PROJECT}:{name}": value for name, value in (secrets or {}).items()}
    set_all_config(values, [f"{PROJECT}:{name}" for name in (*(secrets or {}), *also_secret)])


def refused() -> str:
    with pytest.raises(StackRefused) as caught:
        read_stack()
    assert caught.value.__suppress_context__, "a chained exception would print a traceback"
    return str(caught.value)


def outcome() -> str | None:
    try:
        read_stack()
    except StackRefused as error:
        return str(error)
    return None


async def secret_value(output: pulumi.Output[str] | None) -> str | None:
    """The value of an output that must be there and be secret."""
    assert output is not None
    assert await output.is_secret()
    return await output.future()


def test_sections_become_settings() -> None:
    configure(minimal(nodesets={"gpu": {"replicas": 2}}))
    read = read_stack()
    assert read.config.cluster.name == "lab"
    assert read.config.nodesets["gpu"].replicas == 2
    assert (read.keys, read.database_password) == (KeyOutputs(), None)


def test_configuration_of_other_projects_and_providers_is_left_alone() -> None:
    configure(minimal())
    set_all_config(
        {f"{PROJECT}:cluster": '{"name": "lab"}', f"{PROJECT}:accounting": '{"enabled": false}', "kubernetes:context": "x"},
        [],
    )
    assert read_stack().config.cluster.name == "lab"


def imported() -> StackSettings:
    configure(outside(), KEYS)
    return read_stack()


@in_program
async def test_imported_keys_are_secret_outputs() -> None:
    read = imported()
    for name in ("slurmKey", "jwtKey"):
        assert await secret_value(read.keys.values[name]) == KEYS[name]


@in_program
async def test_the_database_password_is_a_secret_output() -> None:
    configure(minimal(accounting={"database": {"host": "db"}}), {"databasePassword": SENTINEL})
    assert await secret_value(read_stack().database_password) == SENTINEL


@pytest.mark.parametrize("password", ["", "a b", "a#b", "a\\b", '"a"', "a\nDebugLevel=debug5", "a\x00"])
def test_a_password_that_slurmdbd_would_read_otherwise_is_refused_without_being_shown(password: str) -> None:
    configure(minimal(accounting={"database": {"host": "db"}}), {"databasePassword": password})
    message = refused()
    assert "databasePassword: " in message
    assert "slurmdbd.conf as it is" in message
    assert password == "" or password not in message


def test_a_password_that_nobody_uses_is_nobody_s_business() -> None:
    configure(minimal(), {"databasePassword": "a b"})
    assert outcome() is None


def test_keys_that_are_given_and_not_imported_never_leave_the_reader() -> None:
    configure(minimal(), KEYS)
    read = read_stack()
    assert read.keys == KeyOutputs()
    assert KEYS["slurmKey"] not in repr(read)


@pytest.mark.parametrize("name", SECRET_KEYS)
def test_a_secret_in_plain_text_is_refused_without_being_shown(name: str) -> None:
    configure(minimal() | {name: SENTINEL})
    message = refused()
    assert f"{name}: is a secret in plain text. Remove it, and treat it as leaked" in message
    assert given_again(name) in message
    assert SENTINEL not in message


def test_no_leaked_key_that_daemons_run_with_is_answered_with_a_new_one() -> None:
    said = {name: given_again(name) for name in SECRET_KEYS}
    assert {name for name, words in said.items() if "don't make a new one now" in words} == {
        "slurmKey",
        "jwtKey",
        "mungeKey",
    }
    assert said["databasePassword"] == "Give a new one by `pulumi config set --secret slinky-iac:databasePassword`"


@pytest.mark.parametrize("name", ["cluster", "nodesets", "nonsense"])
def test_a_section_that_holds_a_secret_is_refused_without_being_shown(name: str) -> None:
    configure(minimal() | {name: {"gpu": {"env": {"TOKEN": SENTINEL}}}}, also_secret=(name,))
    message = refused()
    assert f"{name}: holds a secret" in message
    assert SENTINEL not in message


@pytest.mark.parametrize("text", ["lab", "", "{", "9" * 5000, "[" * 100_000, "NaN", "3", "true", "null", "[1]"])
def test_a_section_that_is_no_mapping_is_a_fault_not_a_traceback(text: str) -> None:
    configure(minimal() | {"cluster": text})
    assert "  cluster: " in refused()


def test_no_configuration_at_all_names_what_is_missing() -> None:
    set_all_config({}, [])
    assert "cluster: is missing" in refused()


@pytest.mark.parametrize(
    ("secrets", "fault"),
    [
        (KEYS | {"slurmKey": base64.b64encode(b"short").decode()}, "slurmKey: has 5 bytes; 32 to 65536 are allowed"),
        (KEYS | {"jwtKey": base64.b64encode(text_key("k") + b"\n").decode()}, "jwtKey: is text that ends with a line break"),
        (KEYS | {"jwtKey": "%%%"}, "jwtKey: is not base64"),
        ({"slurmKey": KEYS["slurmKey"], "jwtKey": KEYS["slurmKey"]}, "jwtKey: is the same key as slurmKey"),
        ({"slurmKey": KEYS["slurmKey"]}, "keys.source: imported, but jwtKey is not set"),
    ],
)
def test_a_bad_key_is_refused_without_being_shown(secrets: dict[str, str], fault: str) -> None:
    configure(outside(), secrets)
    message = refused()
    assert fault in message
    assert not any(value in message for value in secrets.values())


def test_faults_of_both_keys_come_at_once() -> None:
    configure(outside(), {"slurmKey": "%", "jwtKey": "%"})
    message = refused()
    assert "slurmKey: is not base64" in message
    assert "jwtKey: is not base64" in message


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_SECTIONS = st.sampled_from([*StackConfig.model_fields, "bogus", ""])


@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    broken=st.dictionaries(_SECTIONS, _JSON.map(json.dumps) | st.text(max_size=12), min_size=1, max_size=3),
    hidden=st.sets(_SECTIONS, max_size=1),
    key=st.sampled_from([KEYS["slurmKey"], SENTINEL, "", "x" * 100]),
)
def test_any_broken_configuration_ends_in_sentences_and_shows_no_secret(
    broken: dict[str, str], hidden: set[str], key: str
) -> None:
    data = outside() | broken | {name: json.dumps({"secret": SENTINEL}) for name in hidden}
    configure(data, {"slurmKey": key, "jwtKey": KEYS["jwtKey"]}, tuple(hidden))
    message = outcome()
    assert message is None or message.startswith("the stack's configuration has ")
    assert all(": " in line for line in (message or "").splitlines()[1:])
    assert not any(secret in (message or "") for secret in (SENTINEL, *KEYS.values()))


def test_sections_of_another_project_are_named() -> None:
    """A key without a prefix gets the project's name, which may be another than slinky-iac."""
    set_all_config({"hpc:cluster": '{"name": "lab"}'}, [])
    assert "cluster: found hpc:cluster, which this program doesn't read: write slinky-iac:cluster in its place" in refused()
