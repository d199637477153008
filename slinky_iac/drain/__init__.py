"""Scale-in, removal and maintenance that lose no job: the plan (pure), the steps (pure), and the loop that carries them out.

Pure, and written to be read in this order: ``observation`` (what is looked at) ← ``ranking`` (what the operator would
delete), ``free`` (is a node free) ← ``cost`` (which pods cost least to remove) ← ``plan`` (what will be done) ←
``scale_in_state``, ``steps``, ``rollout``, ``members``, ``conf_steps`` (the next act, as a value of ``actions``).

With connections: ``driver`` (the one loop), ``observe`` (answers to views), ``session`` (acts to calls), ``scale``,
``conf_run``, ``maintenance`` (what is brought about), ``preview``, ``gates``, ``conf_gates`` (Pulumi's side), ``command``.
"""
