"""Scale-in, removal and maintenance that lose no job: the plan (pure), the steps (pure), and the hands that act.

``view`` (what is looked at) ← ``ranking`` (what the operator would delete), ``free`` (is a node free) ← ``plan``
(which pods to give up, and what that means to whom) ← ``steps`` (the next act of the protocol) ← ``run``, ``gates``
(the acts themselves). Only the last two open connections.
"""
