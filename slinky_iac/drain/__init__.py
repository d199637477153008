"""Scale-in, removal and maintenance that lose no job: the plan (pure), the steps (pure), and the hands that act.

Pure, and written to be read in this order: ``view`` (what is looked at) ← ``ranking`` (what the operator would delete),
``free`` (is a node free) ← ``cost`` (whom giving up costs least) ← ``plan``, ``teardown``, ``outside``, ``scale_out`` (what
will be done) ← ``scene``, ``steps``, ``deadline``, ``undo`` (the next act of the protocol, as a value of ``actions``).

With connections: ``observe`` (answers to views), ``session`` (acts to calls), ``scale``, ``membership``, ``maintenance``
(the loops; ``steady`` keeps their deadlines from a clock that is set), ``preview``, ``gates`` (Pulumi's side), ``cli``.
"""
