"""Secrets that another resource gives: the cluster is the one that the stack's own secrets make, and none is shown."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pulumi
import pytest
from pulumi import Output

from components.program_parts import HybridCluster
from slinky_iac.config.reading.engine import ARGUMENTS
from slinky_iac.config.stack import FIRST_SECRETS
from tests.clusters import RAW_KEYS, SECRETS, traces
from tests.program import Recording, Secret, configured, run
from tests.rsa_keys import pem
from tests.unit.components.test_program_parts import refused, unknown

IMPORTED = {"keys": {"source": "imported"}}
OUTSIDE: dict[str, Any] = {"slurmctld": "ctl.example.org", "accounting": {"enabled": False}, **IMPORTED}
DATABASE: dict[str, Any] = {"accounting": {"database": {"host": "db.example.org"}}}
TOKENS = {**DATABASE, "keys": {"tokens": "rs256"}}
MUNGE: dict[str, Any] = {
    "slurmctld": "ctl.example.org",
    "accounting": {"enabled": False},
    "keys": {**IMPORTED["keys"], "auth": "auth/munge"},
    "more": {"munge": {"image": "registry.example.org/client:1"}},
}
SSSD: dict[str, Any] = {"accounting": {"enabled": False}, "identity": {"sssd": {}}}
VALUES = {name: SECRETS[name] for name in FIRST_SECRETS - {"tokenKey"}} | {"tokenKey": base64.b64encode(pem("old")).decode()}
CASES: tuple[tuple[dict[str, Any], tuple[str, ...]], ...] = (
    (OUTSIDE, ("slurmKey", "jwtKey")),
    ({**OUTSIDE, "keys": {"source": "imported", "jwks": True}}, ("slurmKey",)),
    (OUTSIDE, ("jwtKey",)),
    (DATABASE, ("databasePassword",)),
    (TOKENS, ("tokenKey", "databasePassword")),
    (MUNGE, ("mungeKey",)),
    (SSSD, ("sssdConf",)),
)
NEEDED = (("slurmKey", "jwtKey"), ("databasePassword",), ("tokenKey",), ("mungeKey",), ("sssdConf",))


def cluster(arguments: Mapping[str, Any], secrets: Mapping[str, str], *, preview: bool = False) -> Recording:
    with configured({}, dict(secrets)):
        return run(lambda: HybridCluster("atlas", **arguments), preview=preview)


def needed(arguments: Mapping[str, Any]) -> dict[str, str]:
    """The stack's secrets that these arguments ask for."""
    source, keys = arguments.get("keys", {}), set()
    if source.get("source") == "imported":
        keys |= {"mungeKey"} if source.get("auth") else {"slurmKey", "jwtKey"}
    keys |= {"databasePassword"} if "database" in arguments["accounting"] else set()
    keys |= {"tokenKey"} if "tokens" in source else set()
    keys |= {"sssdConf"} if "identity" in arguments else set()
    return {name: VALUES[name] for name in keys}


def outputs(names: tuple[str, ...], values: Mapping[str, str] = VALUES) -> dict[str, Any]:
    return {ARGUMENTS[name]: Output.secret(values[name]) for name in names}


def test_each_secret_of_a_stack_can_be_given_and_has_a_case() -> None:
    assert {name for _, names in CASES for name in names} == FIRST_SECRETS == set(ARGUMENTS)


@pytest.mark.parametrize(("arguments", "names"), CASES)
def test_a_secret_of_another_resource_makes_what_the_stack_s_own_makes_and_is_hidden(
    arguments: dict[str, Any], names: tuple[str, ...]
) -> None:
    own = needed(arguments)
    one = cluster(arguments, own)
    other = cluster({**arguments, **outputs(names)}, {name: own[name] for name in own.keys() - set(names)})
    assert made_of(one) == made_of(other)
    assert {urn: found for urn, found in one.outputs.items() if "pulumi:pulumi:Stack" not in urn} == other.outputs
    forms, hidden = {form for name in names for form in forms_of(VALUES[name])}, list[Any]()
    for each in other.resources:
        shown = repr([without_secrets(each.inputs, hidden), each.name, each.urn, other.outputs.get(each.urn)])
        assert not [form for form in forms if form in shown]
    assert [value for value in hidden if any(form in repr(value) for form in forms)], "the Secret has it"


def made_of(recording: Recording) -> dict[str, Any]:
    """Inputs by URN."""
    return {each.urn: each.inputs for each in recording.resources}


def forms_of(text: str) -> set[str]:
    """Every form in which a secret could stand somewhere."""
    lines = [line for line in text.splitlines() if line.startswith("domains")]
    return {form for part in lines or [text] for form in traces(part.encode()) | traces(_raw(part))}


def _raw(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return text.encode()


def without_secrets(value: Any, found: list[Any]) -> Any:
    if isinstance(value, Secret):
        found.append(value.value)
        return "a secret"
    if isinstance(value, dict):
        return {key: without_secrets(inner, found) for key, inner in value.items()}
    return [without_secrets(inner, found) for inner in value] if isinstance(value, list) else value


WRONG = (
    (OUTSIDE, "slurmKey", base64.b64encode(b"tiny-key").decode(), "slurmKey: has 8 bytes"),
    (OUTSIDE, "jwtKey", "%never-shown%", "jwtKey: is not base64"),
    (OUTSIDE, "jwtKey", base64.b64encode(RAW_KEYS[0]).decode(), "jwtKey: is the same key as slurmKey"),
    (OUTSIDE, "slurmKey", None, "slurmKey: isn't a text"),
    (DATABASE, "databasePassword", "pass#word", "databasePassword: is empty, begins with a quote"),
    (TOKENS, "tokenKey", base64.b64encode(b"no-pem-at-all").decode(), "tokenKey: "),
    (MUNGE, "mungeKey", base64.b64encode(b"tiny-key").decode(), "mungeKey: has 8 bytes"),
    (SSSD, "sssdConf", "[sssd]\ndomains = lost-domain\n", "sssdConf: names no domain"),
)


@pytest.mark.parametrize(("arguments", "name", "value", "said"), WRONG)
def test_a_wrong_one_ends_the_program_and_is_not_shown(
    arguments: dict[str, Any], name: str, value: str | None, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    own = {each: text for each, text in needed(arguments).items() if each != name}
    made: list[Recording] = []
    with pytest.raises(pulumi.RunError) as ended:
        made.append(cluster({**arguments, ARGUMENTS[name]: Output.secret(value)}, own))
    message = str(ended.value)
    assert said in message
    assert f"It came by the argument {ARGUMENTS[name]}." in message
    assert ended.value.__suppress_context__, "a chained exception would print a traceback"
    assert value is None or not {value, _raw(value).decode("latin-1")} & {part for part in message.split()}
    assert value is None or value not in "".join(capfd.readouterr())


@pytest.mark.parametrize("names", NEEDED)
def test_the_stack_s_own_secret_may_be_beside_it_and_no_other_one(names: tuple[str, ...]) -> None:
    arguments = next(each for each, given in CASES if set(given) >= set(names[:1]))
    own = needed(arguments)
    assert cluster({**arguments, **outputs(names)}, own).resources
    other = {**own, names[0]: _another(names[0])}
    with pytest.raises(pulumi.RunError, match=rf"{names[0]}: the program gives it by {ARGUMENTS[names[0]]}, and the stack"):
        cluster({**arguments, **outputs(names)}, other)


def test_bytes_of_a_key_are_said_to_be_wanted_as_base64() -> None:
    with pytest.raises(pulumi.RunError) as ended:
        cluster({**OUTSIDE, "slurm_key": Output.secret(RAW_KEYS[0])}, needed(OUTSIDE))
    assert "slurmKey: isn't a text: give its bytes as a text in base64" in str(ended.value)


def _another(name: str) -> str:
    if name == "tokenKey":
        return base64.b64encode(pem("new")).decode()
    if name in {"databasePassword", "sssdConf"}:
        return "another-one" if name == "databasePassword" else VALUES[name] + "\n# another\n"
    return base64.b64encode(bytes(range(100, 200))).decode()


def test_a_preview_that_knows_none_says_so_and_judges_none(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    given = {"slurm_key": Output.secret(unknown()), "jwt_key": Output.secret(VALUES["jwtKey"])}
    recording = cluster({**OUTSIDE, **given}, {}, preview=True)
    assert recording.one("slinky:slurm:HybridCluster")
    said = [each.getMessage() for each in caplog.records if "not known in this preview" in each.getMessage()]
    assert len(said) == 1
    assert "slurm_key" in said[0]
    assert "jwt_key" not in said[0]


def test_an_output_that_is_no_secret_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    cluster({**OUTSIDE, "slurm_key": Output.from_input(VALUES["slurmKey"]), "jwt_key": Output.secret(VALUES["jwtKey"])}, {})
    said = [each.getMessage() for each in caplog.records if "isn't secret" in each.getMessage()]
    assert [each.partition(":")[0] for each in said] == ["slurm_key"]
    assert not any(VALUES["slurmKey"] in each.getMessage() for each in caplog.records)


def test_one_that_is_not_known_yet_is_no_open_one(caplog: pytest.LogCaptureFixture) -> None:
    """The engine marks what is secret at its source (additional_secret_outputs) only once it knows it."""
    cluster({**OUTSIDE, "slurm_key": unknown(), "jwt_key": Output.secret(VALUES["jwtKey"])}, {}, preview=True)
    assert not [each for each in caplog.records if "isn't secret" in each.getMessage()]


def test_of_two_outputs_the_bad_one_is_named_wherever_it_is_needed() -> None:
    with pytest.raises(pulumi.RunError) as ended:
        cluster({**OUTSIDE, **outputs(("slurmKey", "jwtKey"), {**VALUES, "slurmKey": "%no-base64%"})}, {})
    assert "It came by the argument slurm_key." in str(ended.value)
    assert "jwt_key" not in str(ended.value)


@pytest.mark.parametrize("name", sorted(FIRST_SECRETS))
def test_one_that_is_missing_names_both_ways_to_give_it(name: str) -> None:
    arguments = next(each for each, given in CASES if name in given)
    own = {each: text for each, text in needed(arguments).items() if each != name}
    said = refused(lambda: HybridCluster("atlas", **arguments), own)
    assert f", or give {ARGUMENTS[name]}=OUTPUT" in said


def test_a_key_that_looks_like_words_is_warned_of_when_it_is_known(caplog: pytest.LogCaptureFixture) -> None:
    words = base64.b64encode(b"correct horse battery staple and so on for long").decode()
    cluster({**OUTSIDE, **outputs(("slurmKey", "jwtKey"), {**VALUES, "slurmKey": words})}, {})
    assert [each.getMessage() for each in caplog.records if "looks like words" in each.getMessage()]
