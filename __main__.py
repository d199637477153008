"""The program that `pulumi up` runs: read the stack's settings, build the cluster, export what the next person needs."""

from components.program import hybrid_cluster

cluster = hybrid_cluster()
