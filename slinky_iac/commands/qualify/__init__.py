"""`slinky qualify`: the stack at growing sizes on fake kubelets and on nodes without slurmd, the operator alone beside it.

``model`` holds what was measured and the table, ``settings`` and ``refusals`` decide, ``project``, ``cluster`` and ``fleet``
act, ``ladder`` drives one rung after the other, ``cli`` has the arguments.
"""
