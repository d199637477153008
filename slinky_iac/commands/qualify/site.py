"""What a ladder takes of a site's stack file: sections that were read as they are meant, or nothing.

A setting that is not read has its default here, and for the kubeconfig that is the user's own: a fault anywhere in the file
stops the ladder, which would else begin on another cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from slinky_iac.config.findings import Level
from slinky_iac.config.reading.stack_file import described_elsewhere, parse, project_of, text_of
from slinky_iac.errors import ConfigError, StateError

TAKEN: Final = ("cluster", "operator", "controller", "restapi", "kubernetes")


def sections(file: Path) -> Mapping[str, Any]:
    """The file's sections. Raises :class:`StateError` where it can't be read, and :class:`ConfigError` with every fault."""
    read = parse(text_of(file), project_of(file))
    if elsewhere := described_elsewhere(read, file.parent):
        raise StateError(elsewhere)
    faults = [f"{file}:{fault.line}: {fault.finding}" for fault in read.faults if fault.finding.level is Level.ERROR]
    for name in TAKEN:
        if name in read.secret:
            faults.append(
                f"{file}: {name}: is encrypted, and a ladder has no key to it. Name a file that has it in plain text"
            )
        elif not isinstance(read.sections.get(name) or {}, dict):
            faults.append(f"{file}:{read.line_of(name)}: {name}: must be a mapping of settings")
    if faults:
        raise ConfigError(tuple(faults))
    return {**read.sections, **_placed(read.sections)}


def _placed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The kubeconfig's place from the root: pulumi runs in another folder than this process."""
    kubernetes = settings.get("kubernetes") or {}
    path = kubernetes.get("kubeconfig")
    if not isinstance(path, str) or path.startswith("~") or not path:
        return {}
    return {"kubernetes": {**kubernetes, "kubeconfig": str(Path(path).absolute())}}
