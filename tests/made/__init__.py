"""What tests are made of, one module a thing: there is one way to make a pod, and one to make a NodeSet.

Slurm's and Kubernetes' objects are built through the wire format: what can't come from slurmrestd or the API server can't be
built. A folder of tests that wants its own defaults calls these with them.
"""
