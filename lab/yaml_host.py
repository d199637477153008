"""What runs Pulumi programs in YAML: the language host that comes with an official `pulumi`, built from its Go module."""

from pathlib import Path

from lab import obtain, tools
from lab.obtain import Say

NAME = "pulumi-language-yaml"


def program(*, say: Say = print) -> Path:
    """The host; built if it is not in CACHE."""
    return obtain.ensure((tools.YAML_HOST,), say=say)[NAME]
