"""What `pulumi up` runs: the hybrid Slurm cluster of Pulumi.<stack>.yaml, and what you add to it."""

from slinky_iac.components.program import hybrid_cluster

cluster = hybrid_cluster()

# Resources of your own go here, for example a claim that worker pods mount:
#
#   from pulumi import ResourceOptions
#   from pulumi_kubernetes.core.v1 import PersistentVolumeClaim
#
#   PersistentVolumeClaim("home", ..., opts=ResourceOptions(parent=cluster))
