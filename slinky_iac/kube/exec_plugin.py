"""Commands of a kubeconfig that print a credential: what client-go's credential plugins take, and nothing else.

Source: client-go ``tools/clientcmd/validation.go``, ``plugin/pkg/client/auth/exec/exec.go`` of Kubernetes 1.24 and later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from slinky_iac.errors import KubeUnreachable

_GROUP: Final = "client.authentication.k8s.io"
_VERSIONS: Final = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")


@dataclass(frozen=True)
class ExecPlugin:
    """A command that prints an ExecCredential (client-go credential plugins)."""

    command: str
    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = field(repr=False)
    api_version: str
    interactive_always: bool
    provide_cluster_info: bool


class _EnvVar(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True, defer_build=True)

    name: str
    value: str


class Exec(BaseModel):
    """``users[].user.exec`` as a file has it."""

    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True, defer_build=True)

    command: str
    args: list[str] | None = None
    env: list[_EnvVar] | None = None
    api_version: str = Field("", alias="apiVersion")
    interactive_mode: str = Field("", alias="interactiveMode")
    provide_cluster_info: bool = Field(default=False, alias="provideClusterInfo")

    def plugin(self, folder: Path, where: str) -> ExecPlugin:
        """The command of a file in ``folder``. Raises :class:`KubeUnreachable` for what kubectl and Pulumi's provider refuse
        too, with the same file; ``where``: the file and its user, for the message."""
        advice = "Make a new one with a current version of your cloud's command, as `aws eks update-kubeconfig`"
        if self.api_version not in _VERSIONS:
            raise KubeUnreachable(
                f"{where}: exec's apiVersion isn't {' or '.join(_VERSIONS)}: v1alpha1 was removed in Kubernetes 1.24, and"
                " kubectl refuses such a file",
                advice=advice,
            )
        if self.api_version == _VERSIONS[0] and not self.interactive_mode:
            raise KubeUnreachable(
                f"{where}: exec of {self.api_version} needs interactiveMode (Never, IfAvailable or Always), and kubectl"
                " refuses it without",
                advice=advice,
            )
        relative = "/" in self.command and not self.command.startswith("/")
        return ExecPlugin(
            command=str(folder / self.command) if relative else self.command,
            args=tuple(self.args or ()),
            env=tuple((variable.name, variable.value) for variable in self.env or ()),
            api_version=self.api_version,
            interactive_always=self.interactive_mode == "Always",
            provide_cluster_info=self.provide_cluster_info,
        )
