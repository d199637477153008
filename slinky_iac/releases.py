"""What each release of slurm-operator can do, from its version number; and major releases of Slurm in their order.

The custom resources are ``slinky.slurm.net/v1beta1`` in every release while their schema changed in place, so the
version, not the apiVersion, decides the shape of a spec. Sources: ``api/v1beta1`` and CHANGELOG of the tags named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_MAJOR: Final = re.compile(r"(\d\d)\.(\d\d)")
_IMAGE: Final = re.compile(r"[^@]*:(\d\d\.(?:02|05|08|11))(?:\.\d{1,3})?-(?:ubuntu|rockylinux)[\d.]+(?:@.*)?")
"""An image with a tag of Slinky's form, VERSION-OS."""
_THREE_SINCE: Final = 24 * 2 + 1
"""Ordinal of 24.11, the first release that understands three older ones."""
_OLDEST_PROTOCOL: Final = 40 << 8
"""23.11's, from which on every major release has the next multiple of 256 (slurm_protocol_common.h)."""


@dataclass(frozen=True)
class Line:
    """A minor line of slurm-operator that this program writes specs for."""

    newest: int
    """Patch number of the newest release that this program knows of."""
    slurm: str
    """Release of Slurm in the images that Slinky ships with it."""
    image_tag: str
    """Tag of those images."""
    seen: str = ""
    """What of the line is known, where that isn't a release of it that was run."""


LINES: Final = {
    0: Line(6, "25.11", "25.11-ubuntu24.04"),
    1: Line(2, "25.11", "25.11-ubuntu24.04"),
    2: Line(2, "26.05", "26.05-ubuntu26.04"),
    3: Line(
        0,
        "26.05",
        "26.05-ubuntu26.04",
        seen="only 1.3.0-rc1 was tried, a build of 20 August 2026 (scale-ins, rollouts, slurm.conf, fence, outages)",
    ),
}
"""By minor number. A release that comes out is a row or a number here, once its sources were read."""
NEWEST: Final = f"1.{max(LINES)}"
OPERATOR_MAX_NODE_COUNT: Final = 1024
"""MaxNodeCount as slurm-operator writes it (controller_config.go)."""

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(-[0-9A-Za-z.-]+)?")


@dataclass(frozen=True, order=True)
class OperatorVersion:
    """A release of slurm-operator, e.g. ``OperatorVersion(1, 2, 1)``."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> OperatorVersion:
        """Read ``1.2.1`` or ``v1.2.1``. Raises ValueError with the allowed form, or with what to do about a release of an
        unknown line."""
        match = _VERSION.fullmatch(text)
        if match is None:
            raise ValueError(f"got {text!r}; a release of slurm-operator is three numbers, for example 1.2.1")
        version = cls(int(match[1]), int(match[2]), int(match[3]))
        if version < cls(1, min(LINES), 0):
            raise ValueError(
                f"got {text!r}; slurm-operator before 1.0 has other kinds of objects: upgrade it to 1.0 or newer, by its own"
                " upgrade guide, then set that release"
            )
        if version.major != 1 or version.minor not in LINES:
            raise ValueError(
                f"got {text!r}; this program knows slurm-operator up to {NEWEST}, and would guess how a newer one drains"
                " nodes: take a newer release of this program, or stay with an operator that it knows, for example 1.2.1"
            )
        return version

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def line(self) -> str:
        """Major and minor, e.g. ``1.2``."""
        return f"{self.major}.{self.minor}"

    @property
    def seen(self) -> str:
        """What this program rests on where not on this very release: words for a finding; empty where there is no more to
        say."""
        known = LINES[self.minor]
        if self.patch > known.newest:
            return f"this program knows {self.line}.{known.newest} and older"
        return known.seen

    @property
    def renewal_stops(self) -> bool:
        """Whether it can stop to renew a Token's JWT (slurm-operator issue 240; mended on the branches of 1.1 and 1.2 after
        1.1.2 and 1.2.1 and on 1.3's, not on that of 1.0)."""
        return self < OperatorVersion(1, 2, 2) and not (self.minor == 1 and self.patch >= 3)

    @property
    def refs_have_namespace(self) -> bool:
        """Whether ``controllerRef`` and its kin carry ``namespace``.

        1.0.0 to 1.0.3 and 1.1.0 match on it and default nothing, so it must be there; from 1.0.4, 1.1.1 and 1.2.0 on the
        schema has lost the field and strict validation refuses it.
        """
        return self < OperatorVersion(1, 0, 4) or self == OperatorVersion(1, 1, 0)

    @property
    def jwt_ref_field(self) -> str:
        """Name of the field that refers to the JWT key: ``jwtKeyRef`` from 1.1.0 on."""
        return "jwtHs256KeyRef" if self.minor == 0 else "jwtKeyRef"

    @property
    def has_jwks(self) -> bool:
        """Whether Controller and Accounting have ``jwksKeyRef`` (1.1.0 on)."""
        return self.minor >= 1

    @property
    def copies_metadata(self) -> bool:
        """Whether labels and annotations of Controller, Accounting, RestApi and LoginSet are their pods' too, which restart
        for them (1.1.0 on, ``internal/builder/*/*_app.go``)."""
        return self.minor >= 1

    @property
    def labels_slurmdbd(self) -> bool:
        """Whether slurmdbd's pod has labels and annotations of the Accounting's template (main of August 2026, 1.3 to be;
        ``accountingPodTemplate`` passes them over up to 1.2.1)."""
        return self.minor >= 3

    @property
    def has_ssh(self) -> bool:
        """Whether NodeSet has ``ssh`` (1.1.0 on)."""
        return self.minor >= 1

    @property
    def webhooks(self) -> tuple[str, ...]:
        """Sorts of webhook that its chart registers where the webhook is enabled (``templates/webhook/webhook.yaml``)."""
        return ("validating",) if self.minor == 0 else ("validating", "mutating")

    @property
    def has_scaling_mode(self) -> bool:
        """Whether NodeSet has ``scalingMode``, ``ordinalPadding`` and ``workloadDisruptionProtection`` (1.1.0 on)."""
        return self.minor >= 1

    @property
    def reads_hostname_override(self) -> bool:
        """Whether a Kubernetes node's annotation names its pod of DaemonSet mode (1.2.0 on, ``GetDaemonSetPodHostname``)."""
        return self.minor >= 2

    @property
    def has_topology(self) -> bool:
        """Whether it reads the topology annotation of Kubernetes nodes (1.1.0 on)."""
        return self.minor >= 1

    @property
    def topology_variable(self) -> str:
        """Variable of slurmd's container with the place of its Kubernetes node (1.1.0 on; ``workerContainer``)."""
        return "POD_TOPOLOGY" if self.minor <= 2 else "SLINKY_TOPOLOGY"

    @property
    def drops_empty_values(self) -> bool:
        """Whether false, 0 and empty texts are left out of pods without a word (1.1.0 on, ``structutils/kube.go``)."""
        return self.minor >= 1

    @property
    def merges_mappings(self) -> bool:
        """Whether mappings of a custom resource are merged field by field into those of its pods (1.1.0 on,
        ``structutils/kube.go``); before, they take their place (:mod:`slinky_iac.config.operator.raw_merge`)."""
        return self.minor >= 1

    @property
    def has_node_ports(self) -> bool:
        """Whether ``service.nodePort`` is read for other kinds than LoginSet (1.1.1 on; no 1.0 does)."""
        return self >= OperatorVersion(1, 1, 1)

    @property
    def leaves_services(self) -> bool:
        """Whether a Service stays as it was made, whatever its resource says later (up to 1.2; 1.3 changes it)."""
        return self.minor <= 2

    @property
    def writes_gres_conf(self) -> bool:
        """Whether it writes gres.conf, ``AutoDetect=nvidia``, where no file of the user's is called so (1.1 alone)."""
        return self.minor == 1

    @property
    def prunes_slurm_conf(self) -> bool:
        """Whether the generated slurm.conf holds required lines only, merged with ``extraConf`` (1.2.0 on): no GresTypes,
        no ReturnToService. Before, ``extraConf`` follows the operator's lines and its last value wins."""
        return self.minor >= 2

    @property
    def leaves_records(self) -> bool:
        """Whether Slurm's record of a pod's node stays when the pod ends (1.2.0 on; before, the pod deletes it)."""
        return self.minor >= 2

    @property
    def notes_nodesets(self) -> bool:
        """Whether the operator notes a node's NodeSet in its comment (1.2.0 on; before, only pod and Kubernetes node)."""
        return self.minor >= 2

    @property
    def needs_service_monitor_crd(self) -> bool:
        """Whether the operator's reconcile fails where the ServiceMonitor CRD is absent (up to 1.0.4 and 1.1.0)."""
        return self <= OperatorVersion(1, 0, 4) or self == OperatorVersion(1, 1, 0)

    @property
    def binding_webhook_is_cluster_wide(self) -> bool:
        """Whether its webhook can block all pod scheduling (1.1.0, slurm-operator issue 189)."""
        return self == OperatorVersion(1, 1, 0)

    @property
    def confuses_equal_names(self) -> bool:
        """Whether it takes Controllers of one name in two namespaces for one cluster (1.0, watched with 1.0.1)."""
        return self.minor == 0

    @property
    def slurm_release(self) -> str:
        """The Slurm release of the images that Slinky ships with this operator."""
        return LINES[self.minor].slurm

    @property
    def image_tag(self) -> str:
        """Tag of Slinky's images that goes with this operator."""
        return LINES[self.minor].image_tag


MINIMUM_SLURM = (25, 11)
"""All 1.x operators speak REST v0.0.44 only, which slurmrestd has since 25.11 (chart annotation
``slinky.slurm.net/minimum-slurm-version``)."""


def too_old(release: str) -> str:
    """What to say of a Slurm that slurm-operator can't be used with."""
    return (
        f"{release} is older than 25.11, which slurm-operator needs (REST v0.0.44). `scontrol version` prints what runs:"
        " correct the number here, or first upgrade slurmdbd, slurmctld, slurmrestd and slurmd to 25.11 or newer, in this"
        " order"
    )


def release_numbers(release: str) -> tuple[int, ...]:
    """``26.05`` as numbers: (26, 5)."""
    return tuple(int(part) for part in release.split("."))


def ordinal(release: str) -> int | None:
    """Major releases counted, two a year since 23.11: ``26.05.5`` is one after ``25.11``. None: not a release."""
    match = _MAJOR.match(release)
    return int(match[1]) * 2 + (int(match[2]) > 8) if match is not None else None


def of_protocol(rpc_version: int) -> str:
    """The major release that a protocol number stands for (11520 is 45 times 256, and 45 is 26.05); empty for none."""
    if rpc_version < _OLDEST_PROTOCOL or rpc_version % 256:
        return ""
    year, second = divmod((rpc_version >> 8) + 7, 2)
    return f"{year:02}.{'11' if second else '05'}"


def of_image(image: str) -> str:
    """The major release in an image's tag, where that has the form of Slinky's, as ``26.05.2-ubuntu26.04``; empty for any
    other tag, which may say something else."""
    match = _IMAGE.fullmatch(image)
    return match[1] if match is not None else ""


def oldest(release: str) -> str:
    """The oldest major release whose daemons those of ``release`` understand: the third before, of 24.11 and newer
    (SLURM_MIN_PROTOCOL_VERSION of slurm_protocol_common.h), else the second."""
    newest = ordinal(release) or 0
    year, second = divmod(newest - (3 if newest >= _THREE_SINCE else 2), 2)
    return f"{year:02}.{'11' if second else '05'}"
