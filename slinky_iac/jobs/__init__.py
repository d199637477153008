"""Slurm jobs as resources of a stack: submitted once, followed, cancelled or waited for at their end."""
