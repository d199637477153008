"""From the configuration to the way to slurmrestd, through the state of the gates."""

from __future__ import annotations

from pathlib import Path

import pytest

from slinky_iac.cluster_access import reach
from slinky_iac.config.reading.load import load
from slinky_iac.drain.settings import reach_from, reach_props
from slinky_iac.errors import ConfigError
from slinky_iac.preflight.ask_slurm import endpoint_of_drains, endpoint_of_users
from slinky_iac.slurmrest.endpoints import Direct, KubeProxy, direct
from tests.stacks import minimal

URL = "https://slurmrestd.example.org:6820"
FILES = {"caFile": "ca.pem", "clientCertFile": "gate.crt", "clientKeyFile": "gate.key"}
BY_URL = Direct(URL, Path("ca.pem"), Path("gate.crt"), Path("gate.key"))


def test_gates_commands_and_preflight_show_the_client_certificate_that_is_set() -> None:
    config = load(minimal(slurmrest={"url": URL, **FILES}, external={"slurmrestd": {"url": URL, **FILES}}))
    props = reach_props(reach(config))
    assert FILES.items() <= props.items()
    found = reach_from(props)
    assert found == reach(config)
    assert found.url is not None
    files = (found.ca_file, found.client_cert_file, found.client_key_file)
    assert direct(found.url, *files, plain_http=found.plain_http) == BY_URL
    assert endpoint_of_drains(config).endpoint == BY_URL
    users = endpoint_of_users(config)
    assert users is not None
    assert users.endpoint == BY_URL


def test_the_state_of_an_older_program_shows_no_client_certificate() -> None:
    """Props from before there were such settings: a destroy reads them as they are."""
    props = reach_props(reach(load(minimal())))
    added = {"clientCertFile", "clientKeyFile", "restapiScheme", "slurmUser", "allowPlainHttp"}
    older = {name: value for name, value in props.items() if name not in added}
    assert reach_from(older) == reach(load(minimal()))


def test_without_a_url_the_way_is_the_api_server_in_plain_http() -> None:
    endpoint = endpoint_of_drains(load(minimal())).endpoint
    assert isinstance(endpoint, KubeProxy)
    assert (endpoint.tls, endpoint.port) == (False, 6820)


def test_tokens_name_the_user_that_is_set_in_gates_commands_and_preflight() -> None:
    config = load(minimal(slurmrest={"user": "drainer"}, external={"slurmrestd": {"url": URL}}))
    props = reach_props(reach(config))
    assert props["slurmUser"] == reach_from(props).user == endpoint_of_drains(config).user == "drainer"
    users = endpoint_of_users(config)
    assert users is not None
    assert users.user == "drainer"
    assert endpoint_of_drains(load(minimal(slurmrest={"url": URL, "user": "drainer"}))).user == "drainer"


@pytest.mark.parametrize("user", ["", "two words", "a,b", "-x", "0", "a" * 65])
def test_a_text_that_is_no_users_name_is_refused(user: str) -> None:
    with pytest.raises(ConfigError, match=r"slurmrest\.user"):
        load(minimal(slurmrest={"user": user}))
