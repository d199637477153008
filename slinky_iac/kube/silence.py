"""What to do when the API server gives no answer. It imports nothing: who looks from a preview pays for no client."""

from __future__ import annotations

import re
from typing import Final

_ABOUT: Final = (
    (r"(isn't|not) known", "Check the server's name in the kubeconfig, then DNS and VPN"),
    (r"refused", "Check that the API server runs there, and the port in the kubeconfig"),
    (r"speaks no TLS", "Check the server's port, and https:// or http:// in the kubeconfig"),
    (r"TLS failed.*certificate", "The API server refuses the client certificate: log in again, or make a new kubeconfig"),
    (
        r"TLS failed",
        "The API server and this Python share no versions of TLS or ciphers: see what a proxy on the way offers",
    ),
    (
        r"mismatch",
        "The API server's certificate is for other names and addresses than the kubeconfig's `server`: write one that it is"
        " for, or set `tls-server-name` beside it",
    ),
    (r"expired", "The API server's certificate has expired, or this machine's clock is wrong: renew it, or set the clock"),
    (r"certificate", "Make a new kubeconfig: this one trusts another certificate authority"),
)
"""What to do, by words of the cause; the first that fits counts."""


def about(why: str) -> str:
    """What to do about a silence, by its cause."""
    hints = (advice for words, advice in _ABOUT if re.search(words, why, re.IGNORECASE))
    return next(hints, "Check VPN, firewall and route to it")
