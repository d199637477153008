"""``python -m slinky_iac``: see :mod:`slinky_iac.cli`."""

import sys

from slinky_iac.cli import main

sys.exit(main(sys.argv[1:]))
