"""``python -m slinky_iac``: see :mod:`slinky_iac.commands.cli`."""

import sys

from slinky_iac.commands.cli import main

sys.exit(main(sys.argv[1:]))
