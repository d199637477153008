"""The table of Kubernetes' types is what the API server of the lab's release says of itself, field by field."""

from __future__ import annotations

import json

from lab import kubernetes_table
from slinky_iac.config.kubernetes import types as kubernetes_types
from tests.integration.kube_api import KubeApi
from tests.stacks import ROOT


def test_the_table_is_the_api_servers_own_description(kube: KubeApi) -> None:
    version = json.loads(kube.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"]
    assert version.startswith(f"v{kubernetes_types.RELEASE}.")
    told = json.loads(kube.kubectl("get", "--raw", "/openapi/v2"))
    kept = json.loads((ROOT / "slinky_iac/config/kubernetes/types.json").read_text())
    assert kubernetes_table.table(told["definitions"]) == kept
