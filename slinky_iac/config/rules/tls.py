"""Rules about TLS of clients and daemons: who can show a certificate, and settings that would be passed over."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.addresses import in_clear
from slinky_iac.config.findings import Finding, at
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
            yield at(f"{path}.{lone}").error(f"is set and {path}.{other} is not: TLS needs both files. Set it too")
        if section.client_cert_file is not None and not (section.url or "").startswith("https://"):
            yield at(f"{path}.clientCertFile").error(
                f"needs {path}.url with https://: through the API server and over plain http no client certificate is"
                " requested, so this one would not be used"
            )


def database_tls(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """slurmdbd.conf takes the last StorageParameters of several."""
    database = config.accounting.database
    if database is None or database.tls is None:
        return
    for key in config.accounting.extra_conf:
        if key.lower() == "storageparameters":
            yield at(f"accounting.extraConf.{key}").error(
                "is written from accounting.database.tls; Slurm would use only one of two such lines. Remove one"
            )


def daemons_tls(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """Slurm's own TLS needs a plugin that the packages of Debian (26.05.5) and Slinky's image recipes don't have."""
    for path, conf in (("controller", config.controller.extra_conf), ("accounting", config.accounting.extra_conf)):
        for key, value in conf.items():
            if key.lower() == "tlstype" and value.lower() != "tls/none":
                yield at(f"{path}.extraConf.{key}").warning(
                    f"is {value}: a daemon whose image hasn't this plugin ends with `Failed to initialize tls plugin`, and"
                    " Slinky's images haven't tls/s2n. `slinky docs tls` says what else encrypts the way between daemons",
                    id="tls-plugin-missing",
                )


def plain_http(config: StackConfig, _: frozenset[str]) -> Iterator[Finding]:
    """A token on the wire is good for five minutes, and a forged answer makes busy nodes look free."""
    access = config.slurmrest
    if access.url is not None and in_clear(access.url):
        risk = (
            f"is plain http to another host: a listener can take the token of {access.user} and act on Slurm with it, and a"
            " forged answer makes busy nodes look free, so their jobs are lost"
        )
        if access.allow_plain_http:
            yield at("slurmrest.url").warning(
                f"{risk}. Give slurmrestd TLS and set an https address (`slinky docs tls`)", id="plain-http"
            )
        else:
            yield at("slurmrest.url").error(
                f"{risk}. Set an https address, or leave it out, then gates go through the API server. To accept the risk,"
                " set slurmrest.allowPlainHttp: true"
            )
    sections: list[tuple[str, Access | ExternalSlurmrestd]] = [("slurmrest", access)]
    users = config.external.slurmrestd
    if users is not None:
        sections.append(("external.slurmrestd", users))
        if in_clear(users.url):
            sent = (
                f"preflight sends the token of {access.user} there, too"
                if users.allow_plain_http
                else "preflight sends no token over it, so it can't check slurmctld that way"
            )
            yield at("external.slurmrestd.url").warning(
                f"is plain http to another host: a listener can take the token of everybody who uses it, and submit jobs in"
                f" their name; {sent}. Give slurmrestd TLS and set an https address (`slinky docs tls`)",
                id="plain-http",
            )
    for path, section in sections:
        if section.ca_file is not None and (section.url or "").startswith("http://"):
            yield at(f"{path}.caFile").error(
                f"is not used: {path}.url is http://, which shows no certificate. Set https://, or remove it"
            )


RULES = (client_certificates, plain_http, database_tls, daemons_tls)
