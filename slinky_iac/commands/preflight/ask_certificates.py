"""A TLS handshake with each slurmrestd that a setting names by https: is its certificate believed, and for how long?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from slinky_iac.config.stack import StackConfig
from slinky_iac.errors import SlurmrestUnreachable
from slinky_iac.preflight.ask_slurm import endpoint_of_drains, endpoint_of_users
from slinky_iac.preflight.facts import CertificateFacts
from slinky_iac.slurmrest.endpoints import Direct
from slinky_iac.slurmrest.tls import Files, served_until


def ask_certificates(config: StackConfig, timeout_s: float, *, now: Callable[[], float]) -> tuple[CertificateFacts, ...]:
    """What each showed; nothing is sent but the handshake."""
    return tuple(_shown(path, direct, timeout_s, now) for path, direct in _by_https(config))


def _by_https(config: StackConfig) -> Iterator[tuple[str, Direct]]:
    for path, way in (("slurmrest.url", endpoint_of_drains(config)), ("external.slurmrestd.url", endpoint_of_users(config))):
        if way is not None and isinstance(way.endpoint, Direct) and way.endpoint.url.startswith("https://"):
            yield path, way.endpoint


def _shown(path: str, direct: Direct, timeout_s: float, now: Callable[[], float]) -> CertificateFacts:
    files = Files(direct.ca_file, direct.client_cert_file, direct.client_key_file)
    try:
        until = served_until(direct.url, files, timeout_s)
    except SlurmrestUnreachable as error:
        return CertificateFacts(path, direct.url, refused=str(error))
    except OSError as error:
        return CertificateFacts(path, direct.url, trouble=error.strerror or type(error).__name__)
    return CertificateFacts(path, direct.url, left_s=int(until - now()))
