"""The section identity: how Slurm's pods know the users of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from slinky_iac.config.base import Section, one_of
from slinky_iac.config.fields import FilePath, Image, SlurmUser
from slinky_iac.config.outputs import CONF_WORDS, READ_BEFORE
from slinky_iac.config.resources import SecretReference

Number = Annotated[int, Field(ge=0, le=2147483647)]
Path = Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/@+-]{0,255}$")]
"""A path as a line of passwd can have it."""


class User(Section):
    """A user, with the numbers that the cluster's files have."""

    uid: Number
    """uid, 1000 or above."""
    gid: Number
    """gid of the primary group, 1000 or above. A group of the user's name is made where `groups` has none of this gid."""
    groups: tuple[SlurmUser, ...] = ()
    """Names of more groups, of those in `groups`."""
    home: Path | None = None
    """Home directory; by default /home/NAME. The stack makes none: mount your file system there."""
    shell: Path = "/bin/bash"
    """Login shell."""


class Passwd(Section):
    """Users and groups as entries of passwd and group. No passwords: log in by ssh key or by token."""

    users: dict[SlurmUser, User]
    """Users, by name."""
    groups: dict[SlurmUser, Number] = Field(default_factory=dict)
    """gid of each group, by name; 1000 or above."""


class Sssd(Section):
    """Users of a directory (LDAP, Active Directory), by sssd: in slurmd's and login pods the one of Slinky's images, beside
    slurmctld a sidecar."""

    secrets: ClassVar[Mapping[str, str]] = {
        "sssdConf": "the whole sssd.conf of `identity.sssd`; needed with it, unless `identity.sssd.confFrom` names a Secret",
    }

    conf_from: SecretReference | None = None
    """Where sssd.conf is. By default the stack makes a Secret of the secret sssdConf (`pulumi config set --secret
    slinky-iac:sssdConf`)."""
    ca_file: FilePath | None = None
    """Certificate authority of the directory, as a PEM file relative to Pulumi.yaml. Pods have it as
    /etc/slinky-sssd/ca.crt, for ldap_tls_cacert in sssd.conf. In a Secret of your own it is the entry ca.crt."""
    image: Image | None = None
    """Image of slurmctld's sidecar: sssd, and a libnss_sss that slurmctld's image can load. By default the login image."""
    revision: int = Field(default=1, ge=1)
    """Raise it when sssd.conf has changed: sssd reads it at its start. slurmctld restarts, and NodeSets roll out as with any
    new pod template."""


class Oidc(Section):
    """An identity provider (OIDC), whose tokens slurmctld and slurmdbd take beside the stack's own. Slurm checks signature,
    `exp` and `iat`, neither issuer nor audience: give the keys of a realm that signs for your users only."""

    takes_none: ClassVar[Mapping[str, str]] = {"jwks.**": CONF_WORDS, "jwksFile": READ_BEFORE}

    jwks: dict[str, Any] | None = None
    """The provider's public key set: what the `jwks_uri` of its discovery document serves, as a mapping."""
    jwks_file: FilePath | None = None
    """The same as a file, relative to Pulumi.yaml."""
    user_claim: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_.:/-]{0,63}$")
    """Claim with the user's name (userclaimfield), e.g. preferred_username. Slurm reads `sun` and `username` before it."""

    _one_source = one_of("jwks", "jwks_file", why="the provider's public keys")

    @property
    def source(self) -> tuple[str, Mapping[str, Any] | str]:
        """The setting that has the provider's keys, and what it says: the set itself, or its file."""
        if self.jwks is not None:
            return "identity.oidc.jwks", self.jwks
        return "identity.oidc.jwksFile", self.jwks_file or ""


class Identity(Section):
    """How slurmctld, slurmd and login pods know the cluster's users. By default they know those of their images only."""

    passwd: Passwd | None = None
    """Users and groups that this file lists: for sites with no directory. A change reaches running pods within two minutes,
    and replaces none."""
    sssd: Sssd | None = None
    """Users of a directory, by sssd. Instead of `passwd`."""
    oidc: Oidc | None = None
    """An identity provider whose tokens slurmrestd's users have. Needs `keys.tokens: rs256` or `prepared`."""
