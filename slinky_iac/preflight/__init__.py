"""Do the two halves fit? Looked at before an update and told; nothing is changed but one short-lived pod, which is deleted.

``reach`` tries connections from here and is part of every preview. `python -m slinky_iac preflight` does all of it: ``ask``
gathers ``facts``, the ``check_*`` modules compare them with the configuration (pure), ``report`` shows what came of it.
"""

from slinky_iac.preflight.facts import Place
from slinky_iac.preflight.reach import look, places, unreachable

__all__ = ["Place", "look", "places", "unreachable"]
