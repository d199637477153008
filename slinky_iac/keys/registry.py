"""All keys that `keys rotate` replaces, and what is asked of all of them at once."""

from __future__ import annotations

from typing import Final

from slinky_iac.keys.catalogue import DAEMON_KEYS, JWT, ROTATION_SECRETS, SLURM
from slinky_iac.parts.tokens.key import TOKENS

ROTATING: Final = (SLURM, JWT, TOKENS)
BY_NAME: Final = {key.name: key for key in ROTATING}
BY_LABEL: Final = {key.label: key for key in ROTATING}
FORMS: Final = {name: key.form for key in ROTATING for name in (key.config, *key.rotation_secrets)}
"""What the values of their configuration values are."""
SECRETS: Final = (
    *(key.config for key in DAEMON_KEYS),
    *ROTATION_SECRETS,
    *(name for key in ROTATING if key not in DAEMON_KEYS for name in (key.config, *key.rotation_secrets)),
)
"""All configuration values that hold one of these keys, in their order in a stack's reference."""
SIGNING: Final = {key.algorithm: key for key in ROTATING if key.algorithm}
"""Keys that sign tokens, by their algorithms."""
(_WITH_OUTPUT,) = (key for key in ROTATING if key.output)
PUBLIC: Final = _WITH_OUTPUT
"""The one key whose file of several is no secret. A second such key stops here: outputs, blueprint and `drift` have one."""
BUNDLES: Final = frozenset(key.bundle for key in ROTATING if key.bundle)
"""Files of several keys."""
REFERENCES: Final = {key.reference: key for key in ROTATING if key.reference}
"""Keys by the fields of custom resources that name their bundles' objects."""
