"""A real local hybrid cluster on one Debian machine: Kubernetes nodes, and Slurm hosts outside of them.

Only a developer's machine and CI need this package; the program never imports it, and it imports nothing
but the standard library and itself, so that it runs before any Python environment exists.
"""
