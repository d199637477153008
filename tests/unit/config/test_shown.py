"""No message holds what was pasted into the wrong place: wherever in a configuration a key stands, none quotes it."""

from __future__ import annotations

import base64
import copy
import functools
import json
import string
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.config.leaked import given_again
from slinky_iac.config.reading.load import examined, load
from slinky_iac.config.reading.values import values_of
from slinky_iac.config.rules.sections import findings
from slinky_iac.config.shown import LONGEST, SHORT, hidden, is_path, name_of, place, shown
from slinky_iac.config.stack import SECRET_KEYS
from slinky_iac.errors import ConfigError
from tests.clusters import MUNGE, STACKS, stack_sections
from tests.stacks import merged, minimal
from tests.unit.examples import SHARE

CODED = "cmVhbCBrZXkgb2YgNDIgYnl0ZXMgaXMgaGVyZSBhbmQgbm93aGVyZSBlbHNl"
PLAIN = "nobodyshouldeverseethiskeyinanymessageofanyprogramanywhere0x"
LINES = f"[domain]\nldap_default_authtok = {CODED[:30]}"
KUBECONFIG = f"apiVersion: v1\nusers: [{{name: a, user: {{token: {CODED}}}}}]"
B64 = base64.b64encode(KUBECONFIG.encode()).decode()
KEY = base64.b64encode(bytes(range(33))).decode()
JWT_TEXT = "eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOiJyb290In0.Q3e8fh2kd9f8h2kdj3"
URL = "https://user:password@example.org/kubeconfig"
PEM = "-----BEGIN PRIVATE KEY-----MIIEvQIBADANBgkq-----END PRIVATE KEY-----"
PASSPHRASE, UUID, PASSWORD = "Tr0ub4dor&3-correct-horse", "6f9d1c0e-4b7a-4c8f-9e2d-a1b2c3d4e5f6", "hunter2-S3cret!"
FULL: dict[str, Any] = {
    "kubernetes": {"kubeconfig": "~/.kube/config", "context": "prod"},
    "slurmrest": {"url": "https://rest:6820", "caFile": "ca.pem"},
    "munge": {"image": "a:b", "keyFrom": {"secret": "m", "key": "k"}, "slurmUser": "slurm"},
    "external": {"loginHosts": [{"name": "login-1", "address": "192.0.2.9"}]},
    "logins": {"main": {"sssdConfFrom": {"secret": "sssd", "key": "sssd.conf"}, "service": {"annotations": {"a": "b"}}}},
    "nodesets": {
        "one": {
            "replicas": 1,
            "gres": ["gpu:1"],
            "features": ["a"],
            "env": {"A": "b"},
            "volumes": [{"name": "v", "mountPath": "/v", "source": {"hostPath": {"path": "/v"}}}],
            "pod": {"annotations": {"a": "b"}, "labels": {"a": "b"}, "nodeSelector": {"a": "b"}},
            "ssh": {"enabled": True, "sssdConfFrom": {"secret": "a"}},
            "drain": {"deadline": "30m"},
            "updateStrategy": {"maxUnavailable": "25%"},
        }
    },
    "keys": {"slurmKeyFrom": {"secret": "a", "key": "b"}, "jwtKeyFrom": {"secret": "c", "key": "d"}},
}


def places(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a configuration at which a person can type."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list | tuple) else ()
    for key, value in items:
        yield (*at, key)
        yield from places(value, (*at, key))


def broken(data: dict[str, Any], where: tuple[Any, ...], edit: Callable[[Any, Any], None]) -> dict[str, Any]:
    """What isn't on the way to ``where`` is the same objects."""
    copied = dict(data)
    inner: Any = copied
    for part in where[:-1]:
        inner[part] = copy.copy(inner[part])
        inner = inner[part]
    inner[where[-1]] = copy.copy(inner[where[-1]])
    edit(inner, where[-1])
    return copied


@functools.cache
def whole(stack: str) -> dict[str, Any]:
    """A stack's configuration with :data:`FULL`; not to be changed."""
    made: dict[str, Any] = json.loads(json.dumps(merged(stack_sections(stack), FULL)))
    return made


@functools.cache
def seen_before(stack: str) -> frozenset[tuple[Any, ...]]:
    """Places that a stack has in common with one before it; none in the fuzz tier, which tries all at each."""
    before = () if SHARE >= 1 else EVERY[: EVERY.index(stack)]
    return frozenset(place for other in before for place in places(whole(other)))


def said(data: dict[str, Any]) -> str:
    """All that is said of a configuration, by the two ways in which it is read."""
    texts: list[str] = []
    try:
        texts += [str(found) for found in findings(load(data), frozenset(SECRET_KEYS))]
    except ConfigError as error:
        texts += error.faults
    own = {name: value if isinstance(value, str) else json.dumps(value) for name, value in data.items()}
    try:
        texts += [str(found) for found in values_of(own, frozenset(), with_keys=False).findings]
    except ConfigError as error:
        texts += error.faults
    return "\n".join(texts)


EVERY = (*STACKS, MUNGE)
SHORT_SECRETS = {"a passphrase": PASSPHRASE, "a UUID": UUID, "a password": PASSWORD}
MARKERS = {"base64": CODED, "a name": PLAIN, "lines": LINES, "kubeconfig": KUBECONFIG}
FIRST = [(STACKS[0], each) for each in MARKERS] + [(stack, "base64") for stack in EVERY[1:]]
ALL = [(stack, each) for each in MARKERS for stack in EVERY]


@pytest.mark.hypothesis  # the fuzz tier, which runs these, has every pair; :data:`FULL` gives all stacks the same places
@pytest.mark.parametrize(("stack", "kind"), ALL if SHARE >= 1 else FIRST)
def test_a_key_at_any_place_of_a_configuration_is_in_no_message(stack: str, kind: str) -> None:
    marker = MARKERS[kind]
    data = whole(stack)
    piece = marker.splitlines()[-1] if "\n" in marker else marker

    def as_value(inner: Any, key: Any) -> None:
        inner[key] = marker

    def as_key(inner: Any, key: Any) -> None:
        if isinstance(inner, dict):
            inner[marker] = inner.pop(key)

    def beside(inner: Any, key: Any) -> None:
        if isinstance(inner[key], list):
            inner[key].append(marker)
        elif isinstance(inner[key], dict):
            inner[key][marker] = marker

    done = frozenset(places(data)) if kind != "base64" and SHARE < 1 else seen_before(stack)
    shows = [
        (edit.__name__, ".".join(map(str, where)))
        for where in places(data)
        for edit in ((as_value,) if where in done else (as_value, as_key, beside))
        if piece in said(broken(data, where, edit))
    ]
    assert shows == []


@pytest.mark.parametrize("kind", SHORT_SECRETS)
def test_of_a_short_secret_at_any_place_no_more_than_a_few_characters_are_said(kind: str) -> None:
    marker = SHORT_SECRETS[kind]
    data = whole(STACKS[0])
    shows = []
    for where in places(data):
        for edit in (
            lambda inner, key: inner.__setitem__(key, marker),
            lambda inner, key: inner.__setitem__(key, [marker]),
            lambda inner, key: inner.__setitem__(key, {marker: {}}),
        ):
            told = said(broken(data, where, edit))
            if any(marker[at : at + SHORT + 1] in told for at in range(len(marker) - SHORT)):
                shows.append(where)
    assert shows == []


@pytest.mark.parametrize("text", [KUBECONFIG, LINES, f"metal-[{KEY}", f"[1-{'9' * 17}]{KEY}"])
def test_what_is_no_hostlist_is_not_shown_in_the_place_of_one(text: str) -> None:
    """A host's name may be a hostlist, whose own error has the whole text."""
    data = minimal(external={"slurmdHosts": [{"name": text}]}, nodes={"table": [{"names": [text]}]})
    told = said(data)
    assert "hostlist" in told
    assert not [part for part in (KEY, *text.splitlines()) if part[:20] in told]


@pytest.mark.parametrize("field", ["kubeconfig", "context"])
@pytest.mark.parametrize(
    "text", [B64, KEY, "0123456789abcdef" * 4, JWT_TEXT, URL, PEM, KUBECONFIG, json.dumps({"users": []})]
)
def test_no_text_with_a_key_in_it_names_a_kubernetes_cluster(field: str, text: str) -> None:
    with pytest.raises(ConfigError, match=rf"kubernetes\.{field}: is not .* leaked") as caught:
        load(minimal(kubernetes={field: text}))
    assert text[:16] not in str(caught.value)


@pytest.mark.parametrize("file", ["/dev/fd/63", "/proc/self/environ"])
def test_a_file_of_one_process_is_not_a_kubeconfig_of_a_stack(file: str) -> None:
    with pytest.raises(ConfigError, match="is a file that one process alone has open"):
        load(minimal(kubernetes={"kubeconfig": file}))


CONTEXTS = ["prod", "kubernetes-admin@kubernetes", "arn:aws:eks:eu-west-1:123456789012:cluster/Prod-1"]


@pytest.mark.parametrize(
    "name", [*CONTEXTS, "gke_hpc-project_europe-west1-b_cluster-1", "default/api-hpc-example-org:6443/alice"]
)
def test_contexts_of_clouds_are_names(name: str) -> None:
    assert load(minimal(kubernetes={"context": name})).kubernetes.context == name


TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdW4iOiJyb290In0.Q3e8fh2kd9f8h2kdj3kd9"
"""Of the length that a name may have."""


def test_a_token_at_any_place_is_refused_and_in_no_message() -> None:
    """As a name too: names of topologies, switches, labels and partitions have all of a token's letters."""
    topologies = {"t": {"tree": {"core": ["s1"]}}, "b": {"default": True, "block": {"blockSizes": [4], "blocks": ["b1"]}}}
    rows = [{"names": ["a"], "labels": {"c": "1"}, "features": ["f"], "selector": {"a/b": "c"}, "topology": "t:s1"}]
    data = merged(whole(STACKS[0]), {"nodes": {"table": rows, "topologies": topologies}})
    taken = []
    for where in places(data):
        for edit in (
            lambda inner, key: inner.__setitem__(key, TOKEN),
            lambda inner, key: inner.__setitem__(TOKEN, inner.pop(key)) if isinstance(inner, dict) else None,
        ):
            given = broken(data, where, edit)
            _, faults = examined(given)
            told = "\n".join(map(str, faults))
            if TOKEN in json.dumps(given) and ("has a token in plain text" not in told or TOKEN in told):
                taken.append(where)
    assert taken == []


PLACES = {
    "keys.slurmKey": "slurmKey",
    "keys.jwtKey": "jwtKey",
    "keys.slurm_key": "slurmKey",
    "munge.mungeKey": "mungeKey",
    "accounting.database.password": "databasePassword",
    "accounting.databasePassword": "databasePassword",
    "identity.sssdConf": "sssdConf",
    "slurmKey": "slurmKey",
}


@pytest.mark.parametrize("where", PLACES)
def test_a_secret_in_a_section_is_to_be_removed_and_treated_as_leaked(where: str) -> None:
    data: Any = minimal(accounting={"enabled": True, "database": {"host": "db"}}, munge={}, identity={})
    *sections, name = where.split(".")
    inner = data
    for each in sections:
        inner = inner.setdefault(each, {})
    inner[name] = PASSPHRASE
    told = said(data)
    assert f"{where}: is a secret in plain text. Remove it, and treat it as leaked" in told
    assert given_again(PLACES[where]) in told
    assert "did you mean" not in told


REFERENCES = (
    "keys.slurmKeyFrom",
    "keys.jwtKeyFrom",
    "munge.keyFrom",
    "clients.ci.keyFrom",
    "accounting.database.passwordFrom",
    "identity.sssd.confFrom",
    "nodesets.gpu.ssh.sssdConfFrom",
    "logins.main.sssdConfFrom",
)
"""Every place that takes an entry of a Secret."""


@pytest.mark.parametrize("where", REFERENCES)
@pytest.mark.parametrize(
    ("given", "below", "words"),
    [
        ({"secret": "Hunter 2"}, ".secret", "never shown here"),
        ({"secret": "a", "key": "../Hunter2"}, ".key", "never shown here"),
        ({"secret": "a", "key": ".."}, ".key", "without a folder"),
        ({"key": "Hunter2"}, ".secret", "is missing"),
        (PASSWORD, "", "got a text"),
        (PEM, "", "got a text"),
    ],
)
def test_a_reference_to_a_secret_quotes_nothing_however_short(where: str, given: Any, below: str, words: str) -> None:
    data = minimal()
    *sections, name = where.split(".")
    inner = data
    for each in sections:
        inner = inner.setdefault(each, {})
    inner[name] = given
    told = said(data)
    assert f"{where}{below}: " in told
    assert words in told
    assert "hunter" not in told.lower(), "nor is a right name made of it"
    assert str(given)[:20] not in told


def test_a_piece_of_a_key_in_a_release_s_place_is_not_quoted() -> None:
    with pytest.raises(ConfigError, match="a release of slurm-operator is three numbers") as error:
        load(minimal(operator={"version": "14wT8rB3nJ6hY1dF5gS0cA#"}))
    assert "4wT8rB3" not in str(error.value)


def test_the_text_of_a_kubeconfig_is_refused_as_no_path() -> None:
    with pytest.raises(ConfigError, match=r"kubernetes\.kubeconfig: is not the path of a file") as caught:
        load(minimal(kubernetes={"kubeconfig": KUBECONFIG}))
    assert CODED not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"apiVersion": "v1"}',
        "apiVersion: v1",
        "a\nb",
        "x" * 5000,
        "x" * 300,
        "a\x1b[0m",
        B64,
        KEY,
        JWT_TEXT,
        URL,
        PEM,
        KUBECONFIG,
    ],
)
def test_no_text_of_a_file_passes_for_its_path(text: str) -> None:
    for section in ({"kubernetes": {"kubeconfig": text}}, {"slurmrest": {"caFile": text}}):
        with pytest.raises(ConfigError, match="is not the path of a file"):
            load(minimal(**section))


@pytest.mark.parametrize("path", ["cluster.kubeconfig", "/etc/kube/config", "~/.kube/config", "C:\\kube\\config", "a b/c"])
def test_a_path_is_a_path(path: str) -> None:
    assert load(minimal(kubernetes={"kubeconfig": path})).kubernetes.kubeconfig == path


PATHS = (
    "/etc/slurm/prolog.sh",
    "/etc/slurm/Epilog.d/10-scratch.sh",
    "/usr/local/slurm-25.11/sbin/node_health.py",
    "/cm/local/apps/cmd/scripts/prolog-prejob/99-x",
    "/var/spool/slurm/archive",
    "/opt/site/slurm/hooks/production/cluster-hydra/prolog_slurmctld.sh",
    "/etc/slurm/prolog.d/*",
    "/etc/slurm/prolog.d/[0-9]?-*.sh",
)
NO_PATHS = (
    KEY,
    f"/{KEY}",
    f"/{B64}",
    f"/etc/slurm/{UUID}",
    f"/{CODED}/x",
    f"/v1/{JWT_TEXT}",
    "/services/T024BE7LD/B024BE7LD/XXXXXXXXXXXXXXXXXXXXXXXX",
    f"/hooks/{'0123456789abcdef' * 2}",
    "/etc/slurm/prolog.sh --token hunter2-s3cret",
    "/etc/slurm/prolog.sh\nsecond: line-of-a-file",
    "//etc//slurm//prolog.sh",
    f"/{PASSWORD}/{PASSPHRASE}",
    "/wKgAAQ8fbA7zQ1xP0mS/uR5vT2yX9kL3nB6cD8eF1gH4j",
    f"/etc/{'long-' * 60}",
)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_shown_whole(path: str) -> None:
    assert shown(path) == repr(path)
    assert name_of(path) == path


@pytest.mark.parametrize("text", NO_PATHS)
def test_what_only_begins_as_a_path_is_not(text: str) -> None:
    told = shown(text)
    assert not any(text[at : at + SHORT + 1] in told for at in range(len(text) - SHORT))


@given(st.binary(min_size=24, max_size=64))
def test_no_key_passes_for_a_path(key: bytes) -> None:
    for text in (base64.b64encode(key).decode(), base64.urlsafe_b64encode(key).decode(), key.hex()):
        assert shown(f"/{text}") != repr(f"/{text}")
        assert shown(f"/etc/slurm/{text}") != repr(f"/etc/slurm/{text}")


@given(st.text(min_size=LONGEST + 1).filter(lambda text: not is_path(text)))
def test_a_long_text_is_never_shown(text: str) -> None:
    assert text not in shown(text.replace("[", "("))
    assert text not in name_of(text.replace("[", "("))


@given(st.text(alphabet=string.ascii_letters + string.digits + "+/", min_size=LONGEST + 1))
def test_a_long_part_of_a_path_is_never_shown(text: str) -> None:
    assert text not in place(f"nodesets.{text}.replicas")


HOSTLISTS = ["metal-[001-500]", "rack[01-20]n[001-064],gpu-[1,3-9],login-1.example.org", f"n[{','.join('12345' * 19)}]"]


@pytest.mark.parametrize("name", ["gpu", "slurmctld.example.org", "worker-with-a-long-name", "gpu:a100:8", *HOSTLISTS])
def test_a_plain_name_is_shown(name: str) -> None:
    assert name_of(name) == name
    assert place(f"nodesets.{name}.replicas") == f"nodesets.{name}.replicas"


SHORT_KEYS = [
    "c2VjcmV0U2VjcmV0MTIzNA==",
    "AbCdEfGhIjKlMnOpQrStUv12",
    "a4abd4448c49562d828115d13a1fccea",
    "A4ABD4448C49562D828115D13A1FCCEA",
    "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
]


@pytest.mark.parametrize("key", [*SHORT_KEYS, "x.AbCdEfGhIjKlMnOpQrStUv12#1"])
def test_a_short_key_is_not_shown(key: str) -> None:
    assert key not in shown(key)


@pytest.mark.parametrize("key", SHORT_KEYS)
def test_a_short_key_passes_for_no_name_nor_for_a_path(key: str) -> None:
    """16 bytes in hexadecimal digits and 20 in base32 are as long as names are."""
    for text in (key, f"/{key}", f"/etc/slurm/{key}", f"{key}[1-2]"):
        assert key[:20] not in shown(text) + name_of(text)
    assert key not in place(f"nodesets.{key}.replicas")


@pytest.mark.parametrize("text", [f"[1]{KEY}", f"{UUID}[1-2]", f"a[1],{CODED[:30]}", f"a[{CODED}]", f"n[{'1,' * 100}1]"])
def test_a_key_beside_numbers_in_brackets_is_no_hostlist(text: str) -> None:
    assert text not in name_of(text) + shown(text)
    assert text not in place(f"partitions.{text}.nodesets")


def test_a_hostlist_that_is_refused_is_shown() -> None:
    with pytest.raises(ConfigError, match=r"got 'metal-\[0-999999999\]', a hostlist, stands for more than"):
        load(minimal(external={"slurmdHosts": [{"name": "metal-[0-999999999]"}]}))


def test_what_names_a_secret_is_hidden() -> None:
    fields = ["keys.slurmKeyFrom.secret", "logins.a.sssdConfFrom.key", "x.databasePassword", "a.jwtKey"]
    assert all(map(hidden, fields))
    assert not hidden("cluster.name")
