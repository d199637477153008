"""``python -m slinky_iac``: see :mod:`slinky_iac.commands.cli`."""

# This module and the package's own are read by any Python 3: they say which one the rest needs.
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - `python3` is 3.9 on RHEL 9, 3.10 on Ubuntu 22.04
    sys.exit(
        "error: slinky-iac needs Python 3.11 or newer; this is %d.%d. Install it, then run: python3.11 -m slinky_iac %s"  # noqa: UP031
        % (*sys.version_info[:2], " ".join(sys.argv[1:]))
    )

from slinky_iac.commands.cli import main

sys.exit(main(sys.argv[1:]))
