"""jwks.json: the public halves of keys that sign tokens, by which slurmctld and slurmdbd judge these. How any such set is
read and compared is in :mod:`slinky_iac.keys.public`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slinky_iac.keys.form import Pair
from slinky_iac.keys.raw import document


def public_set(keys: Iterable[Pair], provider: Iterable[Mapping[str, str]] = ()) -> bytes:
    """jwks.json with the public halves, in whatever order they come: the change from one key to the other leaves the file as
    it is. ``provider``: keys of an identity provider, none of which has the kid of one of these.

    slurmctld ends at its start with a set that it can't read, so each has ``alg`` and ``kid`` (``auth_jwt.c``).
    """
    by_kid = {jwk["kid"]: dict(jwk) for jwk in provider} | {key.kid: dict(key.jwk) for key in keys}
    return document([by_kid[name] for name in sorted(by_kid)])
