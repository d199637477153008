"""From a stack's configuration to the specs of custom resources, per release of slurm-operator. Plain dicts, no Output.

``shared`` holds what all specs have in common, ``daemons`` Controller, Accounting, RestApi and Token, ``workers`` NodeSet
and LoginSet, ``endpoints`` the Services that lead to external daemons, ``operator`` the Helm values,
``slurm_conf`` lines of slurm.conf.
"""
