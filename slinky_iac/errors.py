"""Every exception of this project, in one tree.

``kube.wire.NoAnswer`` is one more, which its callers turn into one of these.
Messages say what was got, where, what is allowed, what follows from it and what to do next. Constructors do nothing
but keep their arguments; no message ever holds a secret.
"""

from __future__ import annotations

from slinky_iac.text import listed, printable


class SlinkyError(Exception):
    """Root of all errors that this project raises on purpose. Its text may quote anybody's, so it is shown without control
    characters, wherever it goes: a terminal, the engine's log, a page."""

    def __str__(self) -> str:
        return printable(super().__str__())


class ConfigError(SlinkyError):
    """The configuration of a stack has errors.

    ``faults`` holds one sentence an error, each beginning with its path: ``cluster.name: …``.
    """

    def __init__(self, faults: tuple[str, ...]) -> None:
        self.faults = faults
        super().__init__(f"the stack's configuration has {listed(faults)}")


class PluginRefused(SlinkyError):
    """A call that the plugin of dynamic resources doesn't serve: of a stranger, or with a stranger's provider."""


class HostlistError(SlinkyError):
    """A Slurm node expression such as ``gpu-[0-3,7]`` can't be read.

    ``why`` says it without the expression, for messages about settings, where it may be a secret that was pasted.
    """

    def __init__(self, message: str, why: str) -> None:
        self.why = why
        super().__init__(message)


class StateError(SlinkyError):
    """A stack's state could not be read."""


class PreviewError(SlinkyError):
    """What was given as the output of `pulumi preview --json` is none, or not a whole one."""


class ProjectError(SlinkyError):
    """A project's folder or a stack's file can't be made as asked; nothing was written."""


class QualifyRefused(SlinkyError):
    """A ladder of `slinky qualify` doesn't begin, or stops: what was found, what follows, what to do."""


class HandoffError(SlinkyError):
    """A hand-off for outside hosts can't be made as asked, or not be written where it should go."""


class DiagramError(SlinkyError):
    """A diagram can't be drawn of what was named, or not be written where it should go."""


class RotationError(SlinkyError):
    """A key can't be replaced now, or not this way. The message says what was changed so far: mostly nothing."""


class KeyMaterialError(SlinkyError):
    """A key that Slurm would refuse or misread. The message describes the key and never contains it."""


class SlurmrestError(SlinkyError):
    """slurmrestd could not be asked, or what it said is not an answer."""


class SlurmrestUnreachable(SlurmrestError):
    """No connection to slurmrestd (or from it to slurmctld), no answer within the time given, or a proxy's 502, 503 or 504
    that isn't Slurm's."""


class SlurmrestAuthError(SlurmrestError):
    """The token was refused; wrong key, expired token and version skew look alike (HTTP 511, Slurm error 1007). Or there was
    none (401)."""


class SlurmrestElsewhere(SlurmrestError):
    """slurmrestd leads to the slurmctld of another cluster, so what it says is not about this stack's."""


class SlurmrestVersionError(SlurmrestError):
    """slurmrestd serves none of the REST versions that this program speaks."""


class SlurmrestRefused(SlurmrestError):
    """Slurm understood the request and refused it. ``error_number`` is Slurm's own (slurm_errno.h)."""

    def __init__(self, message: str, *, error_number: int) -> None:
        self.error_number = error_number
        super().__init__(message)


class SlurmrestGarbage(SlurmrestError):
    """The answer is not what Slurm documents, so nothing may be concluded from it."""


class KubeError(SlinkyError):
    """The Kubernetes API could not be asked, or said no. ``status`` is the HTTP status, 0 where there was none; ``advice``
    is what to do about this very cause, and the message's end; ``said`` Kubernetes' own words, empty where it said none."""

    def __init__(self, message: str, *, status: int = 0, advice: str = "", said: str = "") -> None:
        self.status, self.why, self.advice, self.said = status, message, advice, said
        super().__init__(f"{message}. {advice}" if advice else message)


class KubeUnreachable(KubeError):
    """No connection to the Kubernetes API server, no answer in time, or no readable kubeconfig."""


class KubeNotFound(KubeError):
    """The object isn't there (404)."""


class KubeConflict(KubeError):
    """Somebody changed the object between our look and our write (409): look again, never overwrite."""


class KubeForbidden(KubeError):
    """The API server refuses this user the call (401 or 403)."""


class DrainError(SlinkyError):
    """A drain did not end with free nodes."""


class DrainBlocked(DrainError):
    """The drain stopped before its end. The message says what stays as it is now: drained nodes may stay drained."""


class DrainLost(DrainError):
    """slurmdbd says that a job was lost with a node that a gate drained."""


class DrainDeadline(DrainError):
    """The wait's bound is over and jobs still run on the nodes; nothing was killed that policy didn't name."""
