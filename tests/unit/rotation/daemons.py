"""A session whose slurmctld and slurmdbd take or refuse keys, and whose Secrets and ConfigMaps are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Self

from slinky_iac.errors import KubeNotFound
from slinky_iac.parts.tokens.rsa import TokenKey
from slinky_iac.slurmrest.auth import SigningKey

Answers = Mapping[Any, Sequence[Exception | None]]
"""What a daemon says, by key (HS256) or kid (RS256): one answer after the other, the last for ever. Taken if not named."""


class Daemons:
    """``objects``: data of Secrets and ConfigMaps by name. A daemon without answers isn't there to be asked."""

    def __init__(self, objects: Mapping[str, Any], *, ctl: Answers | None = None, dbd: Answers | None = None) -> None:
        self.objects = objects
        self.says = {"ctl": ctl, "dbd": dbd}
        self.asked: dict[tuple[str, Any], int] = {}
        self.kube = self
        self.key: Any = None
        node = SimpleNamespace(name="metal-9", state=frozenset({"IDLE"}))
        self.slurm = SimpleNamespace(nodes=lambda **_: SimpleNamespace(nodes=[node]))

    def nodeset(self, *_: str) -> None:
        """There is none."""
        raise KubeNotFound("none")

    def secret_data(self, _namespace: str, name: str) -> Any:
        if name not in self.objects:
            raise KubeNotFound("none")
        return self.objects[name]

    config_map_data = secret_data

    def slurm_with(self, given: list[SigningKey]) -> Self:
        (key,) = given
        self.key = key.kid if isinstance(key, TokenKey) else key
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def _say(self, daemon: str) -> None:
        says = self.says[daemon]
        assert says is not None, f"{daemon} was asked, and there is none"
        answers = says.get(self.key, [None])
        times = self.asked.get((daemon, self.key), 0)
        self.asked[daemon, self.key] = times + 1
        said = answers[min(times, len(answers) - 1)]
        if said is not None:
            raise said

    def diag(self, **_: object) -> None:
        self._say("ctl")

    def clusters(self, **_: object) -> None:
        self._say("dbd")
