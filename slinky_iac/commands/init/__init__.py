"""`slinky init`: a stack's file that fits a Slurm cluster that is there, and its keys as secrets."""
