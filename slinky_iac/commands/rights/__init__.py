"""The rights in Kubernetes that each use of a stack needs, and no more: as data, and as Roles to apply.

``made`` lists what a stack makes, ``table`` who needs which verb of what: both are pure. ``cli`` writes manifests.
"""
