"""Where the running Slurm differs from what the stack says: looked at and told, never repaired.

`pulumi refresh` compares custom resources; it can't see Slurm. ``compare`` is pure, ``cli`` asks and prints.
"""
