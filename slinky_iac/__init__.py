"""What this project knows about hybrid Slurm clusters: plain values in, plain values out.

Nothing here touches a Pulumi ``Output``; that is what ``components/`` is for. Importing this package (or any module
of it) creates no resource, reads no configuration and opens no connection: Pulumi's dynamic provider process imports
it to carry out a ``destroy`` when no program runs.
"""

import logging
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .components.connection import kubernetes_provider as kubernetes_provider
    from .components.inputs import address as address
    from .components.program import hybrid_cluster as hybrid_cluster
    from .components.program_parts import HybridCluster as HybridCluster
    from .components.program_parts import NodeSet as NodeSet

__version__ = "0.1.0"
"""Version of the program, the library and the template; CHANGELOG.md has a section for each."""

# What a library has to say is its caller's to show: without this, Python prints it to stderr, amid pulumi's own lines.
logging.getLogger(__name__).addHandler(logging.NullHandler())

if any("pulumi-language" in word for word in getattr(sys, "orig_argv", ())[:4]):  # a command has no use for it
    from slinky_iac.engine.program_process import say_if_unused

    say_if_unused()

FOR_PROGRAMS = {
    "HybridCluster": "program_parts",
    "NodeSet": "program_parts",
    "address": "inputs",
    "hybrid_cluster": "program",
    "kubernetes_provider": "connection",
}
"""What a program takes from here, and the module of the components that has it."""


class _NoSuchNameError(AttributeError):
    """A name that isn't here. Which one is meant is asked when it is shown: Python's import of a module asks here first, and
    catches this."""

    def __str__(self) -> str:
        from slinky_iac.text import closest  # noqa: PLC0415 - of a name that is there nothing is asked

        near = closest(str(self.name), FOR_PROGRAMS)
        meant = f"; did you mean {near}?" if near else f"; a program takes {', '.join(sorted(FOR_PROGRAMS))} from it"
        return f"module {__name__!r} has no attribute {self.name!r}{meant}"


def __getattr__(name: str) -> object:
    """The parts for programs, imported when a program asks for them: no command needs the Pulumi SDK's resources."""
    if name not in FOR_PROGRAMS:
        raise _NoSuchNameError(name=name)
    # docs/adr/0014: in a checkout they are a folder beside this one.
    home = "slinky_iac.components" if find_spec("slinky_iac.components") else "components"
    return getattr(import_module(f"{home}.{FOR_PROGRAMS[name]}"), name)
