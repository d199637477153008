"""A certificate authority and a server's certificate, each time the same from the same seed.

The seed is a secret of the stack's state, which the engine encrypts. Nothing else has to be kept: the keys are derived
from it (HKDF, RFC 5869), signatures are deterministic (RFC 6979), and dates are settings. So a preview without a change
has no difference, and no key is in a file, a log or a plain part of the state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CURVE = ec.SECP256R1()
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""Order of P-256 (SEC 2, 2.4.2): a private key is a number from 1 to this less 1."""
AUTHORITY_SINCE, AUTHORITY_UNTIL = datetime(2020, 1, 1, tzinfo=UTC), datetime(2049, 12, 31, tzinfo=UTC)
"""The authority lives as long as its seed: those who trust it would have to be told of a renewal."""


@dataclass(frozen=True)
class Made:
    """PEM: the authority's certificate, the server's chain, and the server's key, which is a secret."""

    ca: str
    chain: str
    key: str = field(repr=False)


def make(seed: bytes, cluster: str, names: Sequence[str], since: date, days: int) -> Made:
    """What ``seed`` gives for a server with these DNS names and addresses, from the beginning of ``since`` on (UTC)."""
    ca_key, key = _derived(seed, "authority"), _derived(seed, "server")
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"slinky-iac {cluster}")])
    ca = (
        _builder(ca_name, ca_name, ca_key, "authority", AUTHORITY_SINCE, AUTHORITY_UNTIL)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(ca_key, hashes.SHA256(), ecdsa_deterministic=True)
    )
    first = datetime(since.year, since.month, since.day, tzinfo=UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    tag = f"server {since} {days} {' '.join(names)}"
    server = (
        _builder(subject, ca_name, key, tag, first, first + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .sign(ca_key, hashes.SHA256(), ecdsa_deterministic=True)
    )
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    authority = _pem(ca)
    return Made(authority, _pem(server) + authority, private.decode())


def _derived(seed: bytes, what: str) -> ec.EllipticCurvePrivateKey:
    # 48 bytes against an order of 32: the remainder is as good as evenly spread (FIPS 186-5, A.2.1).
    long = HKDF(algorithm=hashes.SHA256(), length=48, salt=None, info=f"slinky-iac restapi-tls {what}".encode()).derive(seed)
    return ec.derive_private_key(int.from_bytes(long) % (ORDER - 1) + 1, CURVE)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, tag: str, first: datetime, last: datetime
) -> x509.CertificateBuilder:
    public = key.public_key()
    point = public.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.CompressedPoint)
    serial = int.from_bytes(hashlib.sha256(point + tag.encode()).digest()[:19]) | 1
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(serial)
        .not_valid_before(first)
        .not_valid_after(last)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
