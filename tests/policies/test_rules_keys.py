"""Rules that guard keys, tokens and passwords."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from slurm_rules import (
    clear_text,
    keys,
)
from slurm_rules.beside import cluster_complete
from slurm_rules.cluster import entry
from slurm_rules.model import REDACTED, UNKNOWN, Resource, Stack
from slurm_rules.rule import Verdict

from tests.policies.in_memory import one
from tests.policies.judging import judged, messages, spec, with_hidden


def test_the_older_name_of_the_jwt_keys_reference_counts() -> None:
    old = {"name": "slurm-auth-jwths256", "key": "jwt_hs256.key"}
    change = spec("controller", jwtKeyRef=None, jwtHs256KeyRef=old)
    assert judged(cluster_complete, change).violations == ()
    assert judged(keys.keys_differ, change).violations == ()


def test_a_secret_of_others_is_allowed_unless_the_site_says_no() -> None:
    change = {"resources": {"slurm-key-secret": None}}
    assert judged(cluster_complete, change, base="outside").violations == ()
    verdict = judged(cluster_complete, change, {"strict": ["keys-of-the-stack"]}, "outside")
    assert "has no Secret with name slurm-auth-slurm, namespace slurm; this site wants keys that the stack" in messages(
        verdict
    )


def test_a_reference_to_an_entry_that_the_secret_lacks_is_found() -> None:
    change = {"resources": {"slurm-key-secret": {"properties": {"stringData": {"slurm.key": None, "munge.key": "x"}}}}}
    assert "has no entry slurm.key; its pods" in messages(judged(cluster_complete, change, base="outside"))


@pytest.mark.parametrize(
    "kind", ["RandomBytes", "RandomId", "RandomString", "RandomUuid", "RandomPet", "RandomInteger", "RandomUuid7"]
)
def test_a_generator_that_shows_the_key_is_refused(kind: str) -> None:
    change = {"resources": {"slurm-key": {"type": f"random:index/{kind[0].lower()}{kind[1:]}:{kind}"}}}
    assert f"comes from {kind} slurm-key, which shows it" in messages(judged(keys.key_source, change))


def test_two_generated_keys_differ_though_neither_is_known_yet() -> None:
    assert judged(keys.keys_differ) == Verdict()


def test_encrypted_keys_are_not_said_to_differ() -> None:
    stack = with_hidden("jwt-key-secret", ("stringData",), REDACTED, "outside")
    verdict = one(keys.keys_differ, stack)
    assert verdict.violations == ()
    assert "encrypted secret" in verdict.not_judged[0]


def test_entries_of_a_secret_are_read_from_text_and_from_base64() -> None:
    raw = b"\x00\x01 bytes"
    for props in ({"stringData": {"k": "\x00\x01 bytes"}}, {"data": {"k": base64.b64encode(raw).decode()}}):
        assert entry(Resource("kubernetes:core/v1:Secret", "a", "urn:a", props), "k") == raw


@pytest.mark.parametrize(
    "form",
    [
        lambda key: key.decode(),
        lambda key: base64.b64encode(key).decode(),
        lambda key: base64.b64encode(base64.b64encode(key)).decode(),
        lambda key: key.hex(),
    ],
    ids=["raw", "base64", "twice", "hex"],
)
def test_a_key_is_found_in_every_form(form: Any) -> None:
    key = form(b"another made-up key of enough characters")
    change = {"resources": {"identity": {"properties": {}}}, "outputs": {"note": f"the key is {key}!"}}
    verdict = judged(clear_text.keys_not_in_clear, change, base="outside")
    assert "the JWT key is in plain text in Stack plain-test: note" in messages(verdict)
    assert key not in messages(verdict)


def test_a_status_that_the_provider_will_compute_is_no_place_for_a_key() -> None:
    stack = with_hidden("accounting", ("status",), UNKNOWN, "outside")
    assert one(clear_text.keys_not_in_clear, stack) == Verdict()


def test_a_generated_key_that_flows_into_an_annotation_is_not_judged_before_it_is_known() -> None:
    change = {"resources": {"cgroup": {"properties": {"data": {"note": "${jwt-key.result}"}}}}}
    verdict = judged(clear_text.keys_not_in_clear, change)
    assert verdict.violations == ()
    assert "data.note is known only after the update" in verdict.not_judged[0]


def test_the_word_that_tells_slurmrestd_to_use_tokens_is_no_token() -> None:
    change = spec("restapi", slurmrestd={"env": [{"name": "SLURM_JWT", "value": "daemon"}]})
    assert judged(clear_text.no_secrets_in_clear, change).violations == ()


def test_an_environment_variable_from_a_secret_is_allowed() -> None:
    source = {"secretKeyRef": {"name": "s", "key": "k"}}
    change = spec("nodeset", slurmd={"env": [{"name": "API_TOKEN", "valueFrom": source}]})
    assert judged(clear_text.no_secrets_in_clear, change).violations == ()


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "ENCRYPTED "])
def test_a_private_key_is_found_in_base64_as_well_and_a_certificate_is_none(kind: str) -> None:
    """So the RSA key of a stack's tokens is in its configuration and its Secret."""

    def said(of: str) -> str:
        text = base64.b64encode(f"-----BEGIN {of}-----\nMIIB\n".encode()).decode()
        change = {"resources": {"operator": {"properties": {"values": {"key": f"x {text}"}}}}}
        return messages(judged(clear_text.no_secrets_in_clear, change))

    assert "a private key in plain text" in said(f"{kind}PRIVATE KEY")
    assert said("CERTIFICATE") == said("PUBLIC KEY") == ""


def test_a_secret_in_a_chart_value_is_found() -> None:
    change = {"resources": {"operator": {"properties": {"values": {"key": "-----BEGIN RSA PRIVATE KEY-----"}}}}}
    assert "a private key in plain text" in messages(judged(clear_text.no_secrets_in_clear, change))


@pytest.mark.parametrize(
    ("since", "old"), [("2001-02-03T04:05:06Z", True), ("2100-01-01T00:00:00Z", False), ("", False), (3, False)]
)
def test_the_age_of_a_key_that_somebody_else_makes_is_that_of_its_entry(since: object, old: bool) -> None:
    kind = "pulumi-python:dynamic/slurm:ExternalKey"
    props = {"namespace": "slurm", "secret": "store", "since": since}
    verdict = one(keys.key_age, Stack((Resource(type=kind, name="k", urn="u", props=props),)))
    assert bool(verdict.violations) is old
    assert all("Secret slurm/store: its key is" in str(said) for said in verdict.violations)


def test_before_the_first_update_the_age_of_such_a_key_is_no_reason_to_refuse() -> None:
    kind = "pulumi-python:dynamic/slurm:ExternalKey"
    props = {"namespace": "slurm", "secret": "store", "since": UNKNOWN}
    assert one(keys.key_age, Stack((Resource(type=kind, name="k", urn="u", props=props),))) == Verdict()
