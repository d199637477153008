"""What Slurm takes, by release: names and values of parameters, what they reach, nodes and their generic resources."""
