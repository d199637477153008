"""What a listener on each hop between the parts of a cluster would get, whether certificates are believed, and whether an
engine would load code from the stack's state that isn't this program's. Pure.

No hop that has no setting is a problem. Sources: auth/slurm signs (``auth_slurm.c``, ``cred_slurm.c``) and encrypts nothing;
slurm-operator asks slurmrestd at ``http://<restapi>-restapi.<namespace>:6820`` (``slurmclient_sync.go``, 1.0 to 1.2.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import Answers, Expect, Run, fine, problem, unknown, warning
from slinky_iac.preflight.facts import Facts

SOON_DAYS: Final = 30
DAY_S: Final = 86_400
Guard = Literal["encrypted", "signed", "plain", "outside"]
"""``encrypted``: no one on the way reads or changes it. ``signed``: no one changes the sender, anybody reads. ``plain``:
anybody on the way reads, and may answer in its place. ``outside``: no setting of this stack says."""


@dataclass(frozen=True)
class Hop:
    """One hop."""

    name: str
    ends: str
    """From where to where."""
    crosses: str
    """What a listener would get."""
    guard: Guard
    how: str
    change: str
    """What would guard it better; empty where nothing is to be done."""


_NO_TLS = (
    "no TLS is requested; MariaDB Connector/C 3.4 and newer use it anyway if the server offers it, older releases don't"
)
_FOREIGN_CODE = (
    "Don't run `pulumi` on this stack: that code would run with your rights. Compare with an earlier version of"
    " the state in the backend, import a good one (`pulumi stack import`), and find out who can write there"
)
_NETWORK = "encrypt the network between the two: WireGuard in the CNI, IPsec or WireGuard between the sites"


def hops(config: StackConfig) -> tuple[Hop, ...]:
    """All hops of a stack."""
    if not config.auth.makes_daemons:
        return (_daemons(config.auth.in_clear),)
    connections = (_to_slurmrestd(config), _operator(config), _daemons(config.auth.in_clear))
    return (*connections, *_database(config), *_users(config))


def _to_slurmrestd(config: StackConfig) -> Hop:
    crosses = "tokens that act as SlurmUser, and everybody's jobs"
    if config.slurmrest.url is None:
        tls, ends = config.slurmrestd.scheme == "https", "API server to slurmrestd's pod, for gates and commands"
        how, change = config.slurmrestd.guard
    else:
        tls, ends = urlsplit(config.slurmrest.url).scheme == "https", "gates and commands to slurmrestd"
        put = "put TLS before slurmrestd and set slurmrest.url to https://"
        how, change = ("HTTPS, the certificate is checked", "") if tls else ("plain HTTP", put)
    return Hop("gates-slurmrestd", ends, crosses, "encrypted" if tls else "plain", how, change)


def _operator(config: StackConfig) -> Hop:
    service = f"{names.restapi_service(config.cluster.resource_name)}.{config.cluster.namespace}:{names.SLURMRESTD_PORT}"
    how = f"the operator asks http://{service}; no setting of it changes that"
    change = f"{_NETWORK}; let a NetworkPolicy admit the operator and the API server only"
    return Hop("operator-slurmrestd", "slurm-operator to slurmrestd", "the operator's tokens", "plain", how, change)


def _daemons(how: str) -> Hop:
    crosses = "job scripts, environments and what jobs print"
    return Hop("slurm-daemons", "slurmctld, slurmd, slurmdbd, srun and sackd", crosses, "signed", how, _NETWORK)


def _database(config: StackConfig) -> Iterator[Hop]:
    if not config.accounting.enabled:
        return
    ends, crosses = "slurmdbd to its database", "the database's password in a hash, all accounting"
    if config.slurmdbd.hosts:
        how = "slurmdbd.conf outside decides (StorageParameters=SSL_CA=...)"
        yield Hop("slurmdbd-database", ends, crosses, "outside", how, "see StorageParameters in slurmdbd.conf on its host")
    for database in config.slurmdbd.databases:
        tls = database.tls is not None
        change = "" if tls else "set accounting.database.tls"
        yield Hop("slurmdbd-database", ends, crosses, "encrypted" if tls else "plain", "TLS" if tls else _NO_TLS, change)


def _users(config: StackConfig) -> Iterator[Hop]:
    if url := config.external.users_url:
        plain = urlsplit(url).scheme != "https"
        change = "put a proxy with TLS before it and set external.slurmrestd.url to https://" if plain else ""
        how = "plain HTTP" if plain else "HTTPS"
        guard: Guard = "plain" if plain else "encrypted"
        yield Hop("users-slurmrestd", "users of REST to the slurmrestd outside", "your users' tokens", guard, how, change)


def _encryption(config: StackConfig, _: Facts) -> Answers:
    """Each hop: encrypted; or in plain text, which is unknown where the network below may encrypt it."""
    for hop in hops(config):
        if hop.guard == "encrypted":
            yield fine(hop.how, about=hop.ends)
        else:
            said = {"plain": "in plain text", "signed": "signed, in plain text", "outside": "not known"}[hop.guard]
            got = f"{said} ({hop.how}): a listener reads {hop.crosses}. Whether the network encrypts it isn't seen from here"
            yield unknown(got, f"{hop.change[0].upper()}{hop.change[1:]}", about=hop.ends)


def _api_server(_: StackConfig, facts: Facts) -> Answers:
    """Keys travel from here to the API server."""
    server = facts.kube.server
    if server.startswith("https://") and facts.kube.unchecked:
        got = "HTTPS, and the kubeconfig has insecure-skip-tls-verify: whatever answers there gets the keys"
        advice = "Give the kubeconfig the API server's certificate-authority, and take insecure-skip-tls-verify out"
        yield warning(got, advice)
    elif server.startswith("https://"):
        yield fine("HTTPS")
    elif server:
        advice = "Keys and tokens cross it: use an API server with TLS"
        yield warning(f"plain HTTP ({server})", advice)


def _certificates(_: StackConfig, facts: Facts) -> Answers:
    """Each is believed by whom it is shown to, and holds for another 30 days."""
    for seen in facts.certificates:
        subject = f"certificate at {seen.url}"
        if seen.trouble:
            yield unknown(f"not shown: {seen.trouble}", f"Correct {seen.path}, or start it", about=subject)
        elif seen.left_s is None:
            said = "Gates get no answer from there. Correct it, or the settings beside " + seen.path
            yield problem(seen.refused, said, about=subject)
        elif seen.left_s < SOON_DAYS * DAY_S:
            got = f"runs out in {seen.left_s // DAY_S} days"
            yield warning(got, "Renew it: after that day no gate gets an answer from there", about=subject)
        else:
            yield fine(f"is trusted, and valid for another {seen.left_s // DAY_S} days", about=subject)


def _state_code(_config: StackConfig, facts: Facts) -> Answers:
    """A problem for each place; unknown where the state could not be read or decrypted."""
    if facts.foreign is None:
        if facts.foreign_trouble:
            yield unknown(facts.foreign_trouble, "Run", "slinky verify-state")
        return
    yield from (problem(text, _FOREIGN_CODE) for text in facts.foreign)
    if not facts.foreign:
        yield fine("holds no code but this program's")


STATE: Final = (Expect("state-code", "the stack's state", "the backend", _state_code, Run.ANY),)
CERTIFICATES: Final = (Expect("certificate", "certificates", "here", _certificates, Run.WHOLE | Run.HERE),)
EXPECTED: Final = (
    Expect("encryption", "hops", "configuration", _encryption),
    Expect("encryption", "here to the API server", "here", _api_server),
)
