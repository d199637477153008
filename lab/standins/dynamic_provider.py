"""Dynamic providers (`pulumi.dynamic`) in the project's Python, as the official script's `python -u -m pulumi.dynamic`.

Where the engine is killed, it lives on, as that does (facts/pulumi.md#dynamic-provider).
"""

import os
import runpy
import sys

from lab.standins import automation_later


def main() -> None:
    """Serve until the engine stops us."""
    automation_later.begin()
    # As `python -m` has it: provider classes are imported from the program's directory, not from the lab's checkout.
    sys.path[0] = os.getcwd()  # noqa: PTH109 - a str is wanted
    runpy.run_module("pulumi.dynamic", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
