"""What hosts outside Kubernetes need to belong to the cluster, rendered from a stack: files, keys' places, units, checks.

``role_sheets`` decides what each role needs (pure), ``forms`` and ``ansible`` give it three forms (pure), ``cli`` asks the
stack and ``write`` puts it on disk.
"""
