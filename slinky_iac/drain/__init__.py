"""Scale-in, removal and maintenance that lose no job: the plan (pure), the steps (pure), and the loop that carries them out.

Pure, and written to be read in this order: ``settings`` ← ``protocol`` (what is looked at, what is wanted, the steps) ←
``cost`` (what the operator would delete, which pods cost least to remove), ``free`` (is a node free), ``words`` ←
``losses`` (who loses a job), ``waiting`` (what is done about it, and limits) ← ``members`` (marks on pods, and which are in
service) ← ``status`` (whose drains there are), ``plan`` (what will be done) ← ``scale_in_state``, ``steps``, ``rollout``,
``conf_steps`` (the next step).

With connections: ``driver`` (the one loop), ``observe`` (answers to views, and slurmdbd's word), ``session`` (steps to
calls), ``own_writers`` (what a part answers that writes a number too), ``scale``, ``conf_run``, ``conf_back``, ``sessions``,
``maintenance`` (what is brought about), ``preview``, ``removals``, ``gates``, ``conf_gates``.

``gates`` and ``conf_gates`` are two modules because users' states name them.
"""
