"""Do the two halves fit? Looked at before an update and told; nothing is changed but short-lived pods, which are deleted.

``preview`` is part of every preview: connections from here (``reach``) and one quick look at Slurm. `slinky
preflight` does all of it: ``ask`` gathers ``facts``, the ``check_*`` modules compare them with the configuration (pure),
``report`` shows what came of it.
"""

from slinky_iac.preflight.connectivity import unreachable
from slinky_iac.preflight.preview import notices

__all__ = ["notices", "unreachable"]
