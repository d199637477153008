"""What a listener on each hop would get: said for this stack. No hop that has no setting is a problem. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac.config.stack import StackConfig
from slinky_iac.preflight.check import Check, fine, unknown, warning
from slinky_iac.preflight.facts import Facts
from slinky_iac.preflight.hops import hops


def encryption(config: StackConfig, _: Facts) -> Iterator[Check]:
    """Each hop: encrypted; or in plain text, which is unknown where the network below may encrypt it."""
    for hop in hops(config):
        subject = hop.ends
        if hop.guard == "encrypted":
            yield fine("encryption", subject, "configuration", hop.how)
        else:
            said = {"plain": "in plain text", "signed": "signed, in plain text", "outside": "not known"}[hop.guard]
            got = f"{said} ({hop.how}): a listener reads {hop.crosses}. Whether the network encrypts it isn't seen from here"
            yield unknown("encryption", subject, "configuration", got, f"{hop.change[0].upper()}{hop.change[1:]}")


def api_server(_: StackConfig, facts: Facts) -> Iterator[Check]:
    """Keys travel from here to the API server."""
    server = facts.kube.server
    if server.startswith("https://") and facts.kube.unchecked:
        got = (
            "HTTPS, and the kubeconfig has insecure-skip-tls-verify: whoever answers in the API server's place gets the keys"
        )
        advice = "Give the kubeconfig the API server's certificate-authority, and take insecure-skip-tls-verify out"
        yield warning("encryption", "here to the API server", "here", got, advice)
    elif server.startswith("https://"):
        yield fine("encryption", "here to the API server", "here", "HTTPS")
    elif server:
        advice = "Keys and tokens cross it: use an API server with TLS"
        yield warning("encryption", "here to the API server", "here", f"plain HTTP ({server})", advice)


CHECKS = (encryption, api_server)
