"""Who asked for a change: the CI run, or the login at the terminal. One short line that goes into the reason of a drain.

It is what the environment says, so it is a help in reading Slurm's log and no proof: who runs the update can set it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

LONGEST: Final = 60
"""Characters. Slurm cuts no reason, but `sinfo -R` and mails show the beginning only."""
OVERRIDE: Final = "SLINKY_IAC_ACTOR"
"""Variable that a CI which isn't known here sets to what should be said."""
UNKNOWN: Final = "unknown"
_OTHER: Final = re.compile(r"[^A-Za-z0-9 @._:/#+\[\]-]")
_BLANKS: Final = re.compile(r"\s+")


def actor(env: Mapping[str, str], *, host: str = "") -> str:
    """Who asked, from the environment; ``host`` is this machine's name, used where the environment has none.

    At the most :data:`LONGEST` characters, all of them printable ASCII without quotes, commas or backslashes.
    """
    return next(
        (requester for source in (_given, _github, _gitlab, _ci, _login) if (requester := source(env, host))), UNKNOWN
    )


def _given(env: Mapping[str, str], _host: str) -> str:
    return _clean(env.get(OVERRIDE, ""))


def _github(env: Mapping[str, str], _host: str) -> str:
    if not env.get("GITHUB_ACTIONS"):
        return ""
    # The one who asked for this run, who isn't always the one whose push made the workflow.
    login = env.get("GITHUB_TRIGGERING_ACTOR") or env.get("GITHUB_ACTOR", "")
    return _run("github", login, env.get("GITHUB_RUN_ID", ""))


def _gitlab(env: Mapping[str, str], _host: str) -> str:
    return _run("gitlab", env.get("GITLAB_USER_LOGIN", ""), env.get("CI_PIPELINE_ID", "")) if env.get("GITLAB_CI") else ""


def _ci(env: Mapping[str, str], _host: str) -> str:
    if env.get("CI", "").lower() not in ("1", "true", "yes") and not env.get("JENKINS_URL"):
        return ""
    person = next((env[key] for key in ("BUILD_USER_ID", "CHANGE_AUTHOR", "GIT_AUTHOR_NAME") if env.get(key)), "")
    build = next((env[key] for key in ("BUILD_TAG", "BUILD_ID", "BUILD_NUMBER", "CI_BUILD_ID") if env.get(key)), "")
    return _run("ci", person, build)


def _login(env: Mapping[str, str], host: str) -> str:
    # Under sudo the login is root's; the person's own stands beside it.
    user = _clean(env.get("SUDO_USER") or env.get("USER") or env.get("LOGNAME") or "")
    machine = _clean(env.get("HOSTNAME") or host).partition(".")[0]
    return _cut(f"{user or UNKNOWN}@{machine}" if machine else user)


def _run(kind: str, person: str, run: str) -> str:
    """``github alice run 4711``: a long name is cut, the run's number isn't, for it finds all else."""
    end = _clean(run)[: LONGEST // 2]
    tail = f" run {end}" if end else ""
    named = f" {name}" if (name := _clean(person)) else ""
    return f"{kind}{named[: LONGEST - len(kind) - len(tail)]}{tail}"


def _clean(text: str) -> str:
    return _cut(_BLANKS.sub(" ", _OTHER.sub("_", _BLANKS.sub(" ", text))))


def _cut(text: str) -> str:
    return text.strip()[:LONGEST].strip()
