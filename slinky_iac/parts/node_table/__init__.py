"""The node table and Slurm's topologies: their settings, rules and files, and the gate that labels Kubernetes nodes."""
