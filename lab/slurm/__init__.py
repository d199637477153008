"""The part of the lab that stands outside Kubernetes: Slurm hosts, each a network namespace of this machine."""
