#!/bin/sh
#SBATCH --job-name=array
#SBATCH --output=array-%A-%a.out
#SBATCH --array=0-3
#SBATCH --time=5
# Four tasks, each with a number of its own.
echo "task $SLURM_ARRAY_TASK_ID of job $SLURM_ARRAY_JOB_ID on $(hostname)"
