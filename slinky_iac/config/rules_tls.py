"""Rules about TLS: whose certificate is where, and what goes over the wire as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.findings import Finding, error
from slinky_iac.config.stack import Access, StackConfig
from slinky_iac.config.workers import ExternalSlurmrestd


def client_certificates(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A client certificate is shown in a TLS handshake only, and is worth nothing without its key."""
    sections: list[tuple[str, Access | ExternalSlurmrestd]] = [("slurmrest", config.slurmrest)]
    if config.external.slurmrestd is not None:
        sections.append(("external.slurmrestd", config.external.slurmrestd))
    for path, section in sections:
        if (section.client_cert_file is None) != (section.client_key_file is None):
            lone, other = ("clientCertFile", "clientKeyFile")[:: 1 if section.client_cert_file else -1]
            yield error(f"{path}.{lone}", f"is set and {path}.{other} is not: TLS needs both files. Set it too")
        if section.client_cert_file is not None and not (section.url or "").startswith("https://"):
            yield error(
                f"{path}.clientCertFile",
                f"needs {path}.url with https://: through the API server and over plain http no client certificate is asked"
                " for, and this one would be shown to nothing",
            )


RULES = (client_certificates,)
