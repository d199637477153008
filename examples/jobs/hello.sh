#!/bin/sh
#SBATCH --job-name=hello
#SBATCH --output=hello-%j.out
#SBATCH --time=5
# One task on one node: says where it ran.
echo "hello from $(hostname), job $SLURM_JOB_ID of $SLURM_JOB_USER"
