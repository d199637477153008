"""The slurmrestd client: nodes, jobs and drains of a Slurm cluster, asked so that no wrong answer passes for a right one.

Nothing is imported here: the plugin process pays only for the modules it uses. Begin with
:class:`slinky_iac.slurmrest.client.SlurmrestClient`; :mod:`slinky_iac.slurmrest.objects` has nodes and jobs, and
:mod:`slinky_iac.drain.free` the rule of when a node is free.
"""
