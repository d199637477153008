"""`pulumi up` is killed while it takes a Helm release over: with SIGKILL, after the first write of each kind of object, of
which the state has no record then. It goes on, and nothing is changed that pods follow."""

from __future__ import annotations

from pathlib import Path

from tests.integration.conftest import engine, tools
from tests.integration.deadly import Deadly
from tests.integration.engine import Project
from tests.integration.kube_api import KubeApi
from tests.integration.test_adopt_import import PLURALS, api, killed, let_go, previewed, server, stack, what_pods_follow

__all__ = ["api", "engine", "server", "stack", "tools"]


def test_an_update_goes_on_where_it_was_killed(api: KubeApi, stack: Project, tmp_path: Path) -> None:
    before = what_pods_follow(api)
    assert let_go(api, stack) == 0

    def same() -> None:
        assert what_pods_follow(api) == before, between.killed_at

    with Deadly(api, stack) as between:
        killed(between, stack, tmp_path, same)
        assert previewed(stack).keys() == {"same"}, "nothing is left to do"
    assert {*PLURALS.values(), "validatingadmissionpolicies", "configmaps"} <= {*between.killed_at}
