"""Certificates made from a seed: the same each time, for the names asked for, believed by real TLS."""

from __future__ import annotations

import ssl
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.parts.slurmrestd.certificate import AUTHORITY_UNTIL, Made, make

SINCE = datetime.now(UTC).date() - timedelta(days=1)
NAMES = ("slurm-restapi-tls.slurm", "localhost", "127.0.0.1", "fd00::1")


def made(seed: bytes = b"seed", since: date = SINCE, days: int = 30) -> Made:
    return make(seed, "lab", NAMES, since, days)


def leaf(found: Made) -> x509.Certificate:
    return x509.load_pem_x509_certificates(found.chain.encode())[0]


def handshake(folder: Path, found: Made, ca: str, host: str) -> None:
    """A TLS handshake in memory, with Python's own checks of chain, dates and name."""
    (folder / "chain.pem").write_text(found.chain + found.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "chain.pem")
    client = ssl.create_default_context(cadata=ca)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname=host),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert ends[0].version() == "TLSv1.3"


@given(seed=st.binary(min_size=1, max_size=80), since=st.dates(date(2026, 1, 1), date(2040, 1, 1)))
def test_a_preview_without_a_change_has_no_difference(seed: bytes, since: date) -> None:
    assert made(seed, since) == made(seed, since)


@pytest.mark.parametrize("host", NAMES)
def test_the_certificate_is_believed_under_each_of_its_names(tmp_path: Path, host: str) -> None:
    found = made()
    handshake(tmp_path, found, found.ca, host)


def test_another_name_and_another_stacks_authority_are_not_believed(tmp_path: Path) -> None:
    found = made()
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(tmp_path, found, found.ca, "slurm-restapi.slurm")
    with pytest.raises(ssl.SSLCertVerificationError, match=r"signature failure|self-signed|issuer"):
        handshake(tmp_path, found, made(b"another stack's seed").ca, NAMES[0])


def test_a_later_day_renews_the_certificate_and_leaves_the_authority(tmp_path: Path) -> None:
    """Those who trust the authority needn't be told."""
    old, new = made(since=SINCE - timedelta(days=300)), made()
    assert old.ca == new.ca
    assert (old.chain, leaf(old).serial_number) != (new.chain, leaf(new).serial_number)
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        handshake(tmp_path, old, new.ca, NAMES[0])
    handshake(tmp_path, new, old.ca, NAMES[0])


def test_the_server_key_can_sign_no_certificate_and_isnt_shown() -> None:
    found = made()
    constraints = leaf(found).extensions.get_extension_for_class(x509.BasicConstraints).value
    assert not constraints.ca
    assert leaf(found).not_valid_after_utc < AUTHORITY_UNTIL
    assert "PRIVATE" not in repr(found)
    assert "PRIVATE" not in found.ca + found.chain
