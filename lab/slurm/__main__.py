"""`python3 -m lab.slurm up|down|status`."""
import sys

from lab.slurm.cluster import LAB

if sys.argv[1] == "up": LAB.up()
elif sys.argv[1] == "down": LAB.down()
else: print(LAB.status())
