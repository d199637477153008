"""What hosts outside Kubernetes need to belong to the cluster, rendered from a stack: files, keys' places, units, checks.

``sheets`` decides what each role needs (pure), ``folder``, ``ansible`` and ``cloud_init`` give it three forms (pure),
``known`` asks the stack and ``write`` puts it on disk.
"""
