"""A running cluster as this program meets it: the connection to its Kubernetes and its Slurm, what a look at both brings
back, and what the stack's state says of it. No configuration is read here, so that the gates' process stays small."""
