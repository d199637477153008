"""Replacing a key: under running jobs (``jwt``, ``slurm``, ``tokens``), or in a planned stop (``planned_stop``,
``stopping``).

``driver`` is the one loop: look, plan, act, look again. What it looks at and acts with are ports, given as arguments:
``engine`` (Pulumi), ``cluster`` (Kubernetes and Slurm), ``host_scripts`` (outside hosts), a clock.
"""
