"""Run a stand-in that needs the messages of Pulumi's protocol and no more of the SDK: ``messages_only MODULE ARGUMENTS…``.

The SDK's `__init__` imports all of it, which is half of the processor time that such a process takes to begin.
"""

import importlib.util
import runpy
import sys
import types
from pathlib import Path

FOLDERS = ("pulumi", "pulumi.runtime")
"""Packages whose `__init__` isn't run: only `pulumi.runtime.proto` is imported of them."""


def without_the_rest() -> None:
    """From now on, this process imports the messages alone. Other code of the SDK doesn't work in it any more."""
    found = importlib.util.find_spec("pulumi")
    assert found is not None
    assert found.origin is not None, "with-python has looked for it"
    for name in FOLDERS:
        package = types.ModuleType(name)
        package.__path__ = [str(Path(found.origin).parent.joinpath(*name.split(".")[1:]))]
        sys.modules[name] = package


if __name__ == "__main__":
    without_the_rest()
    runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
