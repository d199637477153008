"""Dynamic providers (`pulumi.dynamic`) in the project's Python, ended when the engine is gone.

The official script runs `python -u -m pulumi.dynamic ENGINE`; so does this one, in one process, with a lifeline: without
it, an update in flight went on unseen after the engine had been killed (facts/pulumi.md#dynamic-provider).
"""

import os
import runpy
import sys

from lab.standins import automation_later, lifeline


def main() -> None:
    """Serve until the engine stops us or dies."""
    address = lifeline.engine_address(sys.argv[1:])
    if address:
        lifeline.watch_engine(address, lifeline.leave)
    automation_later.begin()
    # As `python -m` has it: provider classes are imported from the program's directory, not from the lab's checkout.
    sys.path[0] = os.getcwd()  # noqa: PTH109 - a str is wanted
    runpy.run_module("pulumi.dynamic", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
