"""One look at Slurm: each answer is a fact, each silence a fact with its reason, and no key is in either."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from slinky_iac.kube.wire import Clock, Retry
from slinky_iac.preflight.ask_slurm import RestEndpoint, ask_slurm
from slinky_iac.preflight.facts import SlurmFacts
from slinky_iac.slurmrest.client import SlurmrestClient
from slinky_iac.slurmrest.endpoints import Direct
from tests.made.rows import NOW, Json, node, number
from tests.made.slurm import cluster
from tests.unit.slurmrest.fake import KEY, OTHER_KEY, FakeSlurm, answer, error

INSIDE = RestEndpoint(Direct("http://inside:6820", plain_http=True), inside=True)
OUTSIDE = RestEndpoint(Direct("http://outside:6820", plain_http=True), inside=False, needed=False)
PLAIN = RestEndpoint(Direct("http://outside:6820"), inside=False, needed=False)
CONF: Json = {
    "ClusterName": "lab",
    "AuthType": "auth/slurm",
    "AuthInfo": "use_client_ids",
    "SlurmctldParameters": ["enable_configless"],
    "MaxNodeCount": 1024,
    "SlurmUserId": 401,
    "a field of the future": {"deep": [1]},
}


@dataclass
class Surveyed(FakeSlurm):
    """A slurmrestd that knows the preflight's questions; ``broken`` paths answer 502."""

    broken: tuple[str, ...] = ()

    def serve(self, request: httpx.Request, rest: str, body: Json) -> httpx.Response:
        if any(rest.startswith(each) for each in self.broken):
            return answer(502, [error(7000, "Unable to connect to database")])
        calls: dict[str, Json] = {
            "conf": {"slurm_conf": CONF, "slurm_conf_meta": {"SLURM_VERSION": "26.05.5"}},
            "diag/": {"statistics": {"req_time": number(NOW), "jobs_running": 0}},
            "partitions/": {"partitions": [{"name": "gpu", "node_sets": "gpu"}, {"name": "all", "node_sets": ""}]},
            "qos/": {"qos": [{"name": "normal"}, {"name": "High"}]},
            "clusters/": {
                "clusters": [{"name": "lab", "controller": {"host": "10.0.0.1", "port": 6817}, "rpc_version": 11520}]
            },
        }
        return answer(**calls[rest]) if rest in calls else super().serve(request, rest, body)


def ask(
    worlds: dict[str, FakeSlurm | None],
    *ways: RestEndpoint,
    keys: dict[str, tuple[bytes, ...]] | None = None,
    quick: bool = False,
) -> SlurmFacts:
    """A look; ``worlds`` by host, None where there is no answer."""

    def connect(way: RestEndpoint, keys: tuple[bytes, ...] | None, clock: Clock) -> SlurmrestClient:
        assert isinstance(way.endpoint, Direct)
        world = worlds[httpx.URL(way.endpoint.url).host]

        def refuse(request: httpx.Request) -> httpx.Response:
            raise httpx.ConnectError("Connection refused", request=request)

        transport = httpx.MockTransport(world.handle if world is not None else refuse)
        return SlurmrestClient(way.endpoint, keys, clock=clock, transport=transport, retry=Retry(tries=2))

    clock = Surveyed().ticks.clock()
    found = {"configuration": (KEY,)} if keys is None else keys
    return ask_slurm(ways, found, clock=clock, quick=quick, connect=connect)


def test_all_questions_are_answered() -> None:
    seen = ask({"inside": Surveyed().add(node("gpu-0"))}, INSIDE)
    assert (seen.way, seen.inside, seen.failed, seen.unanswered) == ("http://inside:6820", True, {}, {})
    assert (seen.served, seen.release) == (("v0.0.45", "v0.0.44"), "26.05.5")
    assert seen.tokens == {"configuration": "accepted"}
    assert seen.conf is not None
    assert (seen.conf.ClusterName, seen.version, seen.conf.SlurmUserId) == ("lab", "26.05.5", 401)
    assert [(each.name, each.nodesets) for each in seen.partitions or ()] == [("gpu", ("gpu",)), ("all", ())]
    assert seen.jobs_by_partition == {}
    assert [each.name for each in seen.nodes or ()] == ["gpu-0"]
    assert seen.clusters == (cluster("lab", "10.0.0.1", 6817, 11520),)
    assert seen.slurmdbd_answers is True
    assert seen.clock is not None
    assert seen.clock.said == NOW


def test_what_the_answer_does_not_have_is_unknown_and_no_default() -> None:
    conf = ask({"inside": Surveyed()}, INSIDE).conf
    assert conf is not None
    assert (conf.GresTypes, conf.ReturnToService, conf.ProctrackType, conf.AccountingStoragePort) == (None, None, None, None)


def test_a_refused_token_leaves_all_else_unknown_with_the_reason() -> None:
    seen = ask({"inside": Surveyed(keys=(OTHER_KEY,))}, INSIDE)
    assert seen.tokens == {"configuration": "refused"}
    asked = ("conf", "partitions", "nodes", "clusters", "slurmdbd_answers", "clock")
    assert [getattr(seen, field) for field in asked] == [None] * len(asked)
    assert {seen.failed[field] for field in asked} == {"no token was taken"}


def test_a_slurmctld_that_ends_the_connection_at_a_token_has_hung_up() -> None:
    """As a real one without auth/jwt does (26.05.5); it is neither silent nor has it refused the key."""

    class Without(Surveyed):
        def serve(self, request: httpx.Request, rest: str, body: Json) -> httpx.Response:
            if rest == "diag/":
                return answer(502, [error(5005, "Zero Bytes were transmitted or received")])
            return super().serve(request, rest, body)

    seen = ask({"inside": Without()}, INSIDE)
    assert (seen.tokens, seen.silent) == ({"configuration": "unknown"}, {})
    assert "error 5005" in seen.hung_up
    assert ask({"inside": Surveyed()}, INSIDE).hung_up == ""


def test_the_key_that_is_taken_answers_the_rest() -> None:
    keys: dict[str, tuple[bytes, ...]] = {"configuration": (KEY,), "Secret": (OTHER_KEY,)}
    seen = ask({"inside": Surveyed(keys=(OTHER_KEY,))}, INSIDE, keys=keys)
    assert seen.tokens == {"configuration": "refused", "Secret": "accepted"}
    assert seen.conf is not None


def test_while_a_key_is_rotated_either_is_taken() -> None:
    seen = ask({"inside": Surveyed(keys=(OTHER_KEY,))}, INSIDE, keys={"configuration": (KEY, OTHER_KEY)})
    assert seen.tokens == {"configuration": "accepted"}


def test_without_a_key_what_needs_none_is_asked() -> None:
    seen = ask({"inside": Surveyed()}, INSIDE, keys={})
    assert (seen.tokens, seen.release, seen.conf) == ({}, "26.05.5", None)
    assert "no JWT key at hand" in seen.failed["conf"]


@pytest.mark.parametrize(
    ("path", "field"), [("conf", "conf"), ("partitions", "partitions"), ("nodes", "nodes"), ("clusters", "clusters")]
)
def test_one_failed_question_is_unknown_and_stops_no_other(path: str, field: str) -> None:
    seen = ask({"inside": Surveyed(broken=(path,))}, INSIDE)
    assert getattr(seen, field) is None
    assert list(seen.failed) == [field]
    assert "7000" in seen.failed[field]
    others = {"conf", "partitions", "nodes", "clusters"} - {field}
    assert all(getattr(seen, each) is not None for each in others)


def test_a_silent_slurmctld_is_told_from_a_refused_token() -> None:
    seen = ask({"inside": Surveyed(broken=("diag",))}, INSIDE)
    assert seen.tokens == {"configuration": "unknown"}
    assert list(seen.silent) == ["slurmctld"]
    assert ask({"inside": Surveyed(keys=(OTHER_KEY,))}, INSIDE).silent == {}


def test_a_slurmctld_that_hangs_is_not_taken_for_a_slurmrestd_that_is_not_there() -> None:
    class Hanging(Surveyed):
        def handle(self, request: httpx.Request) -> httpx.Response:
            if "v0.0.43" in request.url.path:
                raise httpx.ReadTimeout("ten seconds for each ping are too many", request=request)
            return super().handle(request)

    seen = ask({"outside": Hanging(broken=("diag",))}, OUTSIDE)
    assert (seen.way, seen.served, list(seen.silent)) == ("http://outside:6820", None, ["slurmctld"])
    assert "too many" in seen.failed["served"]


def test_a_silent_slurmdbd_is_named() -> None:
    assert list(ask({"inside": Surveyed(broken=("clusters",))}, INSIDE).silent) == ["slurmdbd"]


def test_a_quick_look_leaves_out_nodes_and_the_list_of_versions() -> None:
    world = Surveyed().add(node("gpu-0"))
    seen = ask({"inside": world}, INSIDE, quick=True)
    assert (seen.nodes, seen.served, seen.failed) == (None, None, {})
    assert seen.conf is not None
    assert not world.asked_for("GET", "nodes/")


def test_before_2605_the_configuration_is_unknown_with_the_version_that_tells_it() -> None:
    seen = ask({"inside": Surveyed(served=("v0.0.44",))}, INSIDE)
    assert seen.conf is None
    assert "v0.0.45 (Slurm 26.05)" in seen.failed["conf"]
    assert seen.partitions is not None


def test_a_slurmrestd_that_is_too_old_is_named_with_what_it_serves() -> None:
    seen = ask({"inside": Surveyed(served=("v0.0.42",))}, INSIDE)
    assert seen.served == ("v0.0.42",)
    assert seen.tokens == {"configuration": "unknown"}
    assert "v0.0.42 (Slurm 24.11) at most" in seen.token_trouble


def test_what_is_no_slurmrestd_serves_none_of_its_versions() -> None:
    seen = ask({"inside": Surveyed(served=())}, INSIDE)
    assert seen.served == ()
    assert "is it slurmrestd" in seen.failed["conf"]


def test_the_one_that_drains_need_is_missed_and_the_next_is_asked() -> None:
    seen = ask({"inside": None, "outside": Surveyed()}, INSIDE, OUTSIDE)
    assert [*seen.unanswered] == ["http://inside:6820"]
    assert (seen.way, seen.inside) == ("http://outside:6820", False)
    assert seen.tokens == {"configuration": "accepted"}


def test_an_outside_slurmrestd_that_is_silent_here_leaves_things_unknown() -> None:
    seen = ask({"outside": None}, OUTSIDE)
    assert (seen.way, seen.unanswered) == ("", {})
    assert "connection refused" in seen.trouble


def test_a_plain_http_slurmrestd_of_users_is_asked_without_a_token() -> None:
    world = Surveyed()
    seen = ask({"outside": world}, PLAIN)
    assert world.asked
    assert world.tokens == []
    assert (seen.way, seen.tokens, seen.conf) == ("", {}, None)
    assert "http://outside:6820 answers" in seen.trouble
    assert "plain http" in seen.trouble


def test_a_plain_http_slurmrestd_of_users_that_is_silent_is_said_to_be_so() -> None:
    assert "connection refused" in ask({"outside": None}, PLAIN).trouble


def test_with_nobody_to_ask_that_is_said() -> None:
    assert "no slurmrestd runs yet" in ask({}).trouble


def test_no_key_and_no_token_is_in_the_facts() -> None:
    world = Surveyed(broken=("conf", "nodes"))
    seen: Any = ask({"inside": world}, INSIDE, keys={"configuration": (OTHER_KEY,), "Secret": (KEY,)})
    shown = repr(seen)
    assert world.tokens
    assert not [each for each in world.tokens if each in shown]
    assert repr(KEY)[2:-1] not in shown
    assert repr(OTHER_KEY)[2:-1] not in shown
