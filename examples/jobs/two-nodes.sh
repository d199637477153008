#!/bin/sh
#SBATCH --job-name=two-nodes
#SBATCH --output=two-nodes-%j.out
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --time=5
# srun starts one task on each node of the job.
srun hostname
