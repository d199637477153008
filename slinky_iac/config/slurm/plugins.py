"""Names of plugins: of some kinds Slurm takes the kind off a name, or adds it, so that both forms are one plugin. Pure.

Source: ``auth_g_init`` (auth.c), ``cred_g_init`` (cred.c), ``task_g_init`` (task.c) of 25.11 and 26.05. Names are files, so
capitals count. Of kinds that aren't here the daemon loads what is written.
"""

from __future__ import annotations

from typing import Final

_TAKEN_OFF: Final = {
    "AuthType": ("auth/",),
    "AuthAltTypes": ("auth/",),
    "CredType": ("auth/", "cred/"),
    "TaskPlugin": ("task/",),
}
"""By parameter, what Slurm takes off a name."""


def bare(parameter: str, name: str) -> str:
    """A plugin's name without its kind, as ``jwt`` of ``auth/jwt``; as it is written where Slurm takes nothing off."""
    kind = next((prefix for prefix in _TAKEN_OFF.get(parameter, ()) if name.startswith(prefix)), "")
    return name.removeprefix(kind)
