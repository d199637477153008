"""A kubeconfig that can't be read is said before a gate begins to wait: no later look would find it."""

from dataclasses import replace
from pathlib import Path

import pytest

from slinky_iac.cluster.connection import connected
from slinky_iac.errors import KubeUnreachable
from tests.unit.drain.test_maintenance import settings


@pytest.mark.parametrize("text", [None, "", "clusters: ["])
def test_a_kubeconfig_that_cannot_be_read_is_an_error_at_once(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    if text is not None:
        file.write_text(text)
    with connected(replace(settings().reach, kubeconfig=str(file))) as connection, pytest.raises(KubeUnreachable):
        connection.require_kubeconfig()
