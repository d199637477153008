"""The section munge, and what it makes of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from pydantic import Field

from slinky_iac import names
from slinky_iac.config.base import Section
from slinky_iac.config.fields import Image, NodeName
from slinky_iac.config.outputs import CONF_WORDS, IMAGE, IN_NAMES, OBJECT
from slinky_iac.config.resources import SecretReference
from slinky_iac.keys.catalogue import Key

MUNGE: Final = Key(
    "munge",
    "munge.key",
    logical="munge-key",
    config="mungeKey",
    file="munge.key",
    secret=names.ending("-auth-munge"),
    leaked=(
        "munged runs with this key on every host, so don't make a new one now: give its own file, `base64 -w0"
        " /etc/munge/munge.key | pulumi config set --secret slinky-iac:mungeKey`. `slinky docs munge` has its replacement"
    ),
)
"""In place of all other keys."""


class Munge(Section):
    """What login and Jupyter pods of a cluster with auth/munge need: munge.key, slurm.conf, and munged beside them."""

    finding_ids: ClassVar[Mapping[str, str]] = {
        "ignored-with-munge": (
            "With `keys.auth: auth/munge` the stack makes clients only, and this section has no effect. Remove the section."
        ),
        "munge-ignored": ("The `munge` section has no effect with `keys.auth: auth/slurm`. Remove the section."),
        "tokens-ignored": ("`keys.tokens` has no effect with `keys.auth: auth/munge`. Remove it."),
    }
    secrets: ClassVar[Mapping[str, str]] = {
        MUNGE.config: "base64 of `/etc/munge/munge.key` as the outside hosts have it; needed with `keys.auth: auth/munge`",
    }
    variables: ClassVar[tuple[str, ...]] = ("MUNGE",)
    key_fields: ClassVar[Mapping[str, Key]] = {"key_from": MUNGE}
    meant: ClassVar[Mapping[tuple[str, str], str]] = dict.fromkeys(
        (("keys.source", "munge"), ("keys.source", "auth/munge")),
        "the setting is `keys.auth: auth/munge`. A cluster with it has its daemons on hosts, and this makes its clients, no"
        " NodeSets (`slinky docs munge`)",
    )
    takes: ClassVar[Mapping[str, str]] = {"image": IMAGE, "keyFrom.secret": OBJECT}
    takes_none: ClassVar[Mapping[str, str]] = {"keyFrom.key": IN_NAMES, "slurmConf": CONF_WORDS, "slurmUser": CONF_WORDS}

    image: Image | None = None
    """Image of the munged sidecar; needed. It has munged, munge, sh, cp and chmod: the pod's own image often does."""
    user: int = Field(default=65030, ge=1, le=2147483647)
    """Numeric user and group that munged runs as, and a group of all of the pod: one that no one on the cluster has, neither
    as user nor as group. (64030 is slurm on Debian.)"""
    slurm_user: NodeName = "slurm"
    """SlurmUser of the outside cluster. The pod's image must know this name, otherwise every command ends at once, and
    give it the cluster's UID, otherwise srun fails. root: for an image without this user; sbatch and query commands work."""
    key_from: SecretReference | None = None
    """Where munge.key is; by default in a Secret that is named after the cluster's resource name."""
    slurm_conf: str = ""
    """The clients' slurm.conf, whole, in the place of the few lines that are made by default: with MpiDefault, plugins of a
    job's submission, or what else the cluster's own has for its users."""


@dataclass(frozen=True)
class MungeAuth:
    """auth/munge, which pods of Slinky don't have: their slurmd and sackd start with slurm.key, and without munged."""

    section: Munge

    name: ClassVar[str] = "auth/munge"
    makes_daemons: ClassVar[bool] = False
    keys: ClassVar[tuple[Key, ...]] = (MUNGE,)
    client_key: ClassVar[Key] = MUNGE
    bundled: ClassVar[tuple[Key, ...]] = ()
    client_option: ClassVar[str] = "--key-file"
    client_daemon: ClassVar[str] = "munged"
    client_file: ClassVar[str] = MUNGE.file
    in_clear: ClassVar[str] = "munge encrypts only its own credential"
    refusals: ClassVar[Mapping[str, str]] = {
        "handoff": (
            "keys.auth: auth/munge: outside hosts of such a cluster keep the munge.key and slurm.conf they have,"
            " and none of this stack's NodeSets could work with them. Move the cluster to auth/slurm first"
        ),
        "keys": (
            "keys.auth is auth/munge: this stack has munge.key alone, neither slurm.key nor a JWT key. `slinky docs munge`"
            " says how to set it and how to replace it. Nothing was changed"
        ),
        "NodeSet": "is a cluster with auth/munge, which has no NodeSets here",
        "preflight --via": "there is nothing to ask for a stack with keys.auth: auth/munge; leave --via out",
        "token": "keys.auth: a munge cluster's stack signs no tokens; run `scontrol token` there",
    }
    outside_conf: ClassVar[str] = "has auth/munge: its clients in Kubernetes need no line in its slurm.conf"
    hosts_know_people: ClassVar[bool] = True

    @property
    def client_image(self) -> str | None:
        """munged's image."""
        return self.section.image
