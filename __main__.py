"""The program that `pulumi up` runs: read the stack's settings, build the cluster, export what the next person needs."""

# ruff: noqa: E402 - the collector first

import gc

gc.disable()  # during the imports, a fifth of whose time it takes; hybrid_cluster enables it

from components.program import hybrid_cluster

cluster = hybrid_cluster()
