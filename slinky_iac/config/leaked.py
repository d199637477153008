"""What to do about a secret that was in plain text. Pure."""

from __future__ import annotations

from slinky_iac.config.stack import KEYS, SSSD_CONF
from slinky_iac.keys.catalogue import DAEMON_KEYS


def given_again(name: str) -> str:
    """How a secret of this name is given again. A key that daemons run with stays the same key: with another one they would
    no longer know each other. A password can be changed at once."""
    for key in KEYS:
        if key.config == name and (key.leaked or key in DAEMON_KEYS):
            return key.leaked or (
                f"Daemons that run have this key, so don't make a new one now: import their own file, `slinky keys import"
                f" {key.name} --file {key.file}`. Once the stack works, replace it: `slinky keys rotate {key.name} --plan`"
            )
    if name == SSSD_CONF:
        return (
            "Change the bind password in it at the directory, then give the file with the new one:"
            f" `pulumi config set --secret slinky-iac:{name} < sssd.conf`"
        )
    return f"Give a new one by `pulumi config set --secret slinky-iac:{name}`"
