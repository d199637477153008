"""One folder for each thing that a Slurm person can name."""
