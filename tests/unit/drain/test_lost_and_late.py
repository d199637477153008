"""An update whose new nodes do not register still reports the jobs that its drain lost."""

import pytest

from slinky_iac.drain import gates
from slinky_iac.drain.settings import DrainPolicy, plain_policy, reach_props
from slinky_iac.errors import DrainDeadline, DrainLost
from tests.gate_site import PODS, Site
from tests.made.rows import node, run


@pytest.mark.parametrize(("state", "ends"), [("NODE_FAIL", DrainLost), ("COMPLETED", DrainDeadline)])
def test_slurmdbd_is_asked_where_the_wait_for_nodes_ends_late(tmp_path, state, ends):
    site = Site(1)
    site.server.put("kube-system", {}, at="2026-01-01T00:00:00Z")
    ours = "slinky-iac:dev/g0: scale-in 3->2"
    site.slurm.add(node("g0-2", "IDLE", "DRAIN", reason=ours))
    site.slurm.accounts = [run(9, state, nodes="g0-2", end=2**31)]
    for body in site.server.objects[PODS]["items"]:
        if body["metadata"]["name"].endswith("-0"):
            body["status"] = {"phase": "Pending", "conditions": []}
    policy = DrainPolicy(register_deadline_s=1, poll_s=1)
    plain = {
        "schema": 1, "stack": "dev", "nodeset": "g0", "resource": "hpc-worker-g0", "controller": "hpc", "replicas": 3,
        "maxReplicas": 3, "owner": "stack", "operatorVersion": "1.1.0", "policy": plain_policy(policy), "urn": "",
    }  # fmt: skip
    with site.server, pytest.raises(ends):
        gates._settle({**plain, **reach_props(site.reach(tmp_path))})
