"""What this project knows about hybrid Slurm clusters: plain values in, plain values out.

Nothing here touches a Pulumi ``Output``; that is what ``components/`` is for. Importing this package (or any module
of it) creates no resource, reads no configuration and opens no connection: Pulumi's dynamic provider process imports
it to carry out a ``destroy`` when no program runs.
"""

import logging

__version__ = "0.1.0"
"""Version of the program, the library and the template; CHANGELOG.md has a section for each."""

# What a library has to say is its caller's to show: without this, Python prints it to stderr, amid pulumi's own lines.
logging.getLogger(__name__).addHandler(logging.NullHandler())
