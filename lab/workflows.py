"""actionlint over GitHub workflows: ``python -m lab.workflows FILE…``; its exit code is actionlint's, 0 where all is well.

shellcheck and pyflakes stay out of it, so that the answer is the same on every machine.
"""

import subprocess
import sys

from lab import obtain, paths, tools

LABELS = paths.REPO / "examples" / "ci" / "actionlint.yaml"
"""The site's own runners."""


def main(files: list[str]) -> int:
    """Read the files; returns the exit code."""
    program = obtain.ensure((tools.LINTER,), say=lambda line: print(line, file=sys.stderr))["actionlint"]
    argv = [str(program), "-config-file", str(LABELS), "-shellcheck=", "-pyflakes=", *files]
    return subprocess.run(argv, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
