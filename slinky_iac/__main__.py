"""``python -m slinky_iac``: see :mod:`slinky_iac.commands.cli`."""

# This module and the package's own are read by any Python 3: they say which one the rest needs.
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - `python3` is 3.9 on RHEL 9, 3.10 on Ubuntu 22.04
    sys.exit(
        "error: slinky-iac needs Python 3.11 or newer; this is %d.%d. Install it, then run: python3.11 -m slinky_iac %s"  # noqa: UP031
        % (*sys.version_info[:2], " ".join(sys.argv[1:]))
    )

import shlex

from slinky_iac.commands.cli import main

# As it was called: `python3` of a machine may have none of the packages that `venv/bin/python` has.
sys.exit(main(sys.argv[1:], "%s -m slinky_iac" % shlex.quote(sys.orig_argv[0])))  # noqa: UP031
