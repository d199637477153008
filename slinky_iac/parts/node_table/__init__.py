"""The node table and Slurm's topologies: their settings, rules and files. Its gate is in slinky_iac/node_table."""
