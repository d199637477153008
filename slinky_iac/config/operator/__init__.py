"""What slurm-operator makes of a stack, by release: lines of slurm.conf, places in pods, fields of custom resources."""
