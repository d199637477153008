"""What to do about a secret that was in plain text. Pure."""

from __future__ import annotations

from slinky_iac.keys.catalogue import DAEMON_KEYS
from slinky_iac.parts.munge.settings import MUNGE


def given_again(name: str) -> str:
    """How a secret of this name is given again. A key that daemons run with stays the same key: with another one they would
    no longer know each other. A password can be changed at once."""
    for key in DAEMON_KEYS:
        if key.config == name:
            return (
                f"Daemons that run have this key, so don't make a new one now: import their own file, `slinky keys import"
                f" {key.name} --file {key.file}`. Once the stack works, replace it: `slinky keys rotate {key.name} --plan`"
            )
    if name == MUNGE.config:
        return (
            "munged runs with this key on every host, so don't make a new one now: give its own file, `base64 -w0"
            f" /etc/munge/munge.key | pulumi config set --secret slinky-iac:{name}`. `slinky docs munge` has its replacement"
        )
    return f"Give a new one by `pulumi config set --secret slinky-iac:{name}`"
