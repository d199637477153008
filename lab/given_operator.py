"""slurm-operator of a release that the user has built, in place of the lab's own: `lab up --operator-source DIR`.

The module proxy doesn't serve every release. DIR is a source tree of the operator whose owner has built ``manager`` and
``webhook`` in it; chart and CRDs come from the same tree. Nothing of it is built or kept here.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lab import given_slurm, own_images, paths, tools
from lab.errors import LabError
from lab.given import Given

REPOSITORY: Final = "slinky-lab/slurm-operator-given"
MANAGER: Final = "manager"
WEBHOOK: Final = "webhook"
CHART: Final = "helm/slurm-operator"
NEEDED: Final = (MANAGER, WEBHOOK, f"{CHART}/Chart.yaml", "helm/slurm-operator-crds/Chart.yaml")
SOURCE: Final = Given(
    "SLINKY_LAB_OPERATOR_SOURCE",
    "operator-source",
    NEEDED,
    "be a source tree of slurm-operator with its two programs built: "
    + " and ".join(f"`CGO_ENABLED=0 go build -o {each} ./cmd/{each}`" for each in (MANAGER, WEBHOOK)),
)


@dataclass(frozen=True)
class GivenOperator:
    """A source tree with its programs built."""

    folder: Path
    version: str
    """``version`` of the tree's chart, which is what the stack's `operator.version` must be."""

    @property
    def image(self) -> str:
        """Name of the manager's image on the lab's nodes."""
        return f"{REPOSITORY}:{self.version}"

    @property
    def webhook(self) -> str:
        """Name of the webhook's image there."""
        return f"{REPOSITORY}-webhook:{self.version}"

    @property
    def images(self) -> dict[str, str]:
        """Both, by the program in the tree that each starts."""
        return {MANAGER: self.image, WEBHOOK: self.webhook}

    @property
    def binaries(self) -> dict[str, Path]:
        """The same two in the tree."""
        return {program: self.folder / program for program in self.images}

    def in_settings(self, dev: str) -> str:
        """The text of a file of settings with this operator in place of the lab's own."""
        own = tools.OPERATOR
        for old, new in (
            (f"version: {own}", f"version: {self.version}"),
            ("repository: slinky-lab/slurm-operator\n", f"repository: {REPOSITORY}\n"),
            (f"tag: {own}", f"tag: {self.version}"),
        ):
            if dev.count(old) != 1:
                raise LabError(f"the settings have {dev.count(old)} lines with `{old.strip()}` where the lab needs one")
            dev = dev.replace(old, new)
        return dev


def given(environment: Mapping[str, str] = os.environ) -> GivenOperator | None:
    """The operator that the user names, or None. Raises LabError where the folder lacks something."""
    folder = SOURCE.folder(environment.get(SOURCE.variable, ""))
    if folder is None:
        return None
    found = re.search(r"^version: *[\"']?([^\s\"']+)", (folder / CHART / "Chart.yaml").read_text(), re.MULTILINE)
    if found is None:
        raise LabError(f"{folder / CHART / 'Chart.yaml'} has no version. Nothing was started")
    return GivenOperator(folder, found[1])


def dev_settings() -> str:
    """The text of Pulumi.dev.yaml for the operator and the Slurm that the lab runs."""
    return settings_of(paths.REPO / "Pulumi.dev.yaml")


def settings_of(file: Path) -> str:
    """The text of a file of settings on the lab's own operator, for the operator that the lab runs."""
    text = given_slurm.in_settings(file.read_text())
    operator = given()
    return text if operator is None else operator.in_settings(text)


def webhook_image() -> str:
    """Name of the image of the webhook that belongs to the operator that the lab runs."""
    found = given()
    return own_images.WEBHOOK if found is None else found.webhook
