"""The shell of a status: one question's trouble closes the ways behind it and no others, and nothing is written."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slinky_iac.cluster import pulumi_state
from slinky_iac.commands.cli import main, parser
from slinky_iac.commands.status import ask, cli
from slinky_iac.commands.status.facts import KeyPlace
from slinky_iac.commands.status.model import NOT_ASKED, Answer, Guarded, SeenKey, Status
from slinky_iac.commands.status.render import screen
from slinky_iac.errors import (
    KubeForbidden,
    KubeNotFound,
    KubeUnreachable,
    SlurmrestAuthError,
    SlurmrestUnreachable,
    StateError,
)
from slinky_iac.keys.raw import fingerprint, several_keys
from slinky_iac.kube.resources import Secret
from slinky_iac.parts.tokens.public import public_set as jwks
from tests.made.kubernetes import secret as made_secret
from tests.made.slurm import pings
from tests.rsa_keys import pem, token_key
from tests.stacks import minimal, told
from tests.unit.status.made import PRINTS, answers, fenced, resources

WRITES = {
    "annotate_pod",
    "drain",
    "undrain",
    "resume",
    "set_reason",
    "delete_node",
    "cancel_jobs",
    "requeue_jobs",
}


ENTRIES = ("slurm.key", "jwt_hs256.key")
SECRET = made_secret({name: b"raw bytes of a key" for name in ENTRIES}, 1_799_000_000)


class Asked:
    """Answers as the example has them; ``fails`` maps a call to the error that it raises."""

    def __init__(self, fails: dict[str, Exception]) -> None:
        self.fails, self.calls, self.good = fails, [], answers()
        self.budgets: dict[str, float] = {}

    def __getattr__(self, name: str) -> Any:
        if name in WRITES:
            raise AssertionError(f"a status writes: {name}")

        def call(*arguments: object, **more: Any) -> Any:
            self.calls.append(name)
            self.budgets[name] = more.get("budget_s", 0.0)
            if name in self.fails:
                raise self.fails[name]
            return self.answer(name, arguments)

        return call

    def answer(self, name: str, arguments: tuple[object, ...]) -> Any:
        good = self.good
        whole = {
            "release": good.kube.value, "version": "v0.0.45", "ping": good.slurmrestd.value, "diag": good.token.value,
            "served": good.served.value, "nodes": good.nodes.value, "jobs": good.jobs.value, "clusters": good.slurmdbd.value,
            "deployment_images": good.operator.value, "secret": SECRET,
        }  # fmt: skip
        if name == "pods_of":
            found = [each.value for each in good.workers.values() if each.value]
            return next(each.pods for each in found if each.nodeset is arguments[1])
        if name == "nodeset":
            each = good.workers[str(arguments[1]).removeprefix("slurm-worker-")].value
            return each.nodeset if each else None
        return whole[name]


class FakeSession:
    def __init__(self, asked: Asked) -> None:
        self.kube = self.slurm = asked
        self.asked = asked


class World(dict[str, Exception]):
    """The errors to raise, by call; filled in by a test before it looks. And what `pulumi` answers, by its arguments."""

    def __init__(self) -> None:
        self.asked = Asked(self)
        self.pulumi: dict[str, object] = {
            "stack export": {"deployment": {"resources": resources()}},
            "stack history": answers().history.value,
            "config --json": told(minimal()),
            "stack --show-name": "prod",
        }

    def run(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        found = self.pulumi.get(" ".join(arguments[:2]))
        said = found if isinstance(found, str) else json.dumps(found)
        return subprocess.CompletedProcess(arguments, found is None, said, "the reason")

    @contextmanager
    def connect(self, *_arguments: object, **_more: object) -> Iterator[Any]:
        yield FakeSession(self.asked)

    def look(self, stack: str | None = "prod") -> Status:
        return ask.look(stack, self.run, self.connect)

    def command(self, *arguments: str) -> int:
        return cli.run(parser().parse_args(["status", *arguments]), self.run, self.connect)


@pytest.fixture
def world() -> World:
    return World()


def test_a_cluster_that_answers_has_nothing_unknown(world: World) -> None:
    shown = world.look()
    assert shown.unknown == ()
    assert {each.state for each in shown.endpoints} == {"up"}
    assert {each.cluster for each in shown.keys} == {"differs"}, "the fake Secret holds another key than the state says"


def test_before_the_first_up_stack_and_cluster_have_their_names(world: World) -> None:
    world.pulumi |= {"stack export": {"deployment": {}}, "stack history": []}
    assert screen(world.look(None)).startswith("prod: cluster lab, ")
    del world.pulumi["config --json"]
    assert screen(world.look("test")).startswith("test: cluster unknown, ")


def test_a_fence_is_asked_for_where_the_state_has_one(world: World) -> None:
    assert world.look().guards["fence"] == Guarded("off")
    world.pulumi["stack export"] = {"deployment": {"resources": fenced()}}
    world["admission"] = KubeNotFound("it isn't there", status=404)
    broken = world.look().guards["fence"]
    assert broken is not None
    assert (broken.state, len(broken.faults)) == ("broken", 2)
    world["admission"] = KubeForbidden("this user may not", status=403)
    shown = world.look()
    assert (shown.guards["fence"], shown.unknown) == (Guarded("unknown"), ("fence: this user may not",))


def test_a_silent_api_server_is_asked_once_and_closes_all(world: World) -> None:
    world["release"] = KubeUnreachable("no answer from https://api")
    shown = world.look()
    assert shown.unknown == ("Kubernetes API: no answer from https://api",)
    assert [each.state for each in shown.endpoints] == ["down", "unknown", "unknown", "unknown"]
    assert {each.cluster for each in shown.keys} == {"unknown"}
    assert [each.fingerprint for each in shown.keys] == list(PRINTS), "what the state knows is still shown"
    assert shown.last is not None


def test_a_silent_slurmrestd_leaves_kubernetes_known(world: World) -> None:
    world["version"] = SlurmrestUnreachable("no answer from slurmrestd")
    shown = world.look()
    assert shown.unknown == ("slurmrestd: no answer from slurmrestd",)
    gpu = shown.groups[0]
    assert (gpu.pods, gpu.ready, gpu.states) == (3, 3, None)


def test_a_refused_token_closes_what_needs_one(world: World) -> None:
    world["diag"] = SlurmrestAuthError("the token was refused")
    shown = world.look()
    assert shown.unknown == ("slurmctld: the token was refused",)
    assert shown.drains is None


def test_where_slurmctld_hangs_slurmrestd_is_up_and_nothing_is_asked_that_would_wait_again(world: World) -> None:
    world.asked.good = answers(slurmrestd=Answer(pings({"responding": False})))
    world["diag"] = SlurmrestUnreachable("slurmrestd runs but can't reach slurmctld")
    shown = world.look()
    assert {"served", "nodes", "jobs", "clusters"} & set(world.asked.calls) == set()
    states = {each.name: each.state for each in shown.endpoints}
    assert (states["slurmrestd"], states["slurmctld"], states["slurmdbd"]) == ("up", "down", "unknown")
    assert shown.unknown == ("slurmctld: slurmrestd runs but can't reach slurmctld",)


def test_slurmrestd_has_the_time_that_it_waits_for_a_slurmctld_that_hangs(world: World) -> None:
    world.look()
    message_timeout_s, budgets = 10, world.asked.budgets
    assert min(budgets["version"], budgets["ping"]) > 2 * message_timeout_s
    assert budgets["diag"] > message_timeout_s


def test_rights_that_are_missing_hide_one_thing_only(world: World) -> None:
    world["secret"] = KubeForbidden("Secret: this user may not")
    world["deployment_images"] = KubeForbidden("Deployment: this user may not")
    shown = world.look()
    assert set(shown.unknown) == {"slurm.key: Secret: this user may not", "slurm-operator: Deployment: this user may not"}
    assert shown.drains
    assert {each.cluster for each in shown.keys} == {"unknown"}


def test_a_secret_that_is_gone_is_no_silence(world: World) -> None:
    world["secret"] = KubeNotFound("Secret: it isn't there")
    shown = world.look()
    assert shown.unknown == ()
    assert {each.cluster for each in shown.keys} == {"differs"}


def test_exit_codes_and_json(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert world.command("--stack", "prod") == 0
    assert "cluster atlas" in capsys.readouterr().out
    world["version"] = SlurmrestUnreachable("no answer")
    assert world.command("--json") == 4
    assert json.loads(capsys.readouterr().out)["unknown"] == ["slurmrestd: no answer"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["status"]) == 1
    assert "pulumi" in capsys.readouterr().err


def test_no_key_is_in_what_is_shown(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ([], ["--json"]):
        world.command(*form)
        assert "raw bytes" not in capsys.readouterr().out


def test_an_outside_slurmrestd_is_tried_and_its_silence_is_no_unknown() -> None:
    assert ask._users_slurmrestd("").trouble.startswith(NOT_ASKED)
    closed = ask._users_slurmrestd("http://127.0.0.1:1")
    assert "takes no connection from here" in closed.trouble


def runner(stdout: str, code: int = 0) -> Any:
    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        assert arguments[:2] == ["stack", "history"]
        return subprocess.CompletedProcess(arguments, code, stdout, "the reason")

    return run


def test_the_history_is_a_list_or_an_error() -> None:
    assert pulumi_state.history("prod", 3, runner('[{"kind": "update"}, 7]')) == [{"kind": "update"}]
    assert pulumi_state.history(None, 3, runner("[]")) == []
    for bad in (runner("{}"), runner("not json"), runner("[]", 255)):
        with pytest.raises(StateError, match="pulumi stack history"):
            pulumi_state.history("prod", 3, bad)


class Kube:
    """Secrets and ConfigMaps by name."""

    def __init__(self, secrets: dict[str, dict[str, bytes]], maps: dict[str, dict[str, str]]) -> None:
        self.secrets, self.maps = secrets, maps

    def secret(self, _namespace: str, name: str) -> Secret:
        if name not in self.secrets:
            raise KubeNotFound(f"Secret {name}: it isn't there")
        return made_secret(self.secrets[name], 1_000, 2_000)

    def secret_entry(self, namespace: str, name: str, entry: str) -> bytes:
        return self.secret(namespace, name).data[entry]

    def config_map_data(self, _namespace: str, name: str) -> dict[str, str]:
        if name not in self.maps:
            raise KubeNotFound(f"ConfigMap {name}: it isn't there")
        return self.maps[name]


def key_of(place: KeyPlace, secrets: dict[str, dict[str, bytes]], maps: dict[str, dict[str, str]] | None = None) -> SeenKey:
    session: Any = SimpleNamespace(kube=Kube(secrets, maps or {}))
    return ask._key(session, place)


TOKEN = KeyPlace("token key", "slurm", "tokens", "token.pem", "", None, "public", frozenset())
OLD, NEW = b"o" * 64, b"n" * 64


def test_the_token_key_is_seen_by_its_kid_and_since_when_it_is_in_its_secret() -> None:
    old, new = token_key("old"), token_key("new")
    public = {"public": {"jwks.json": jwks([old, new]).decode()}}
    assert key_of(TOKEN, {"tokens": {"token.pem": pem("old")}}, public) == SeenKey(
        f"kid {old.kid}", 2_000, (f"kid {new.kid}",)
    )
    unpublished = key_of(TOKEN, {"tokens": {"token.pem": pem("old")}})
    assert (unpublished.besides, unpublished.text) == ((), "ConfigMap slurm/public lacks its public half")


def test_a_token_secret_without_a_key_is_a_trouble_that_quotes_nothing_of_it() -> None:
    answer = ask.ask(lambda: key_of(TOKEN, {"tokens": {"token.pem": b"not a key at all"}}))
    assert answer.value is None
    assert "Secret slurm/tokens: token.pem" in answer.trouble
    assert "not a key at all" not in answer.trouble


def test_keys_that_are_handed_out_beside_the_one_in_use_are_seen() -> None:
    own, other = fingerprint(OLD), fingerprint(NEW)
    jwt = KeyPlace("JWT key", "slurm", "jwt", "hs", "", None)
    assert key_of(jwt, {"jwt": {"hs": OLD}}) == SeenKey(own, 1_000)
    assert key_of(jwt, {"jwt": {"hs": OLD, "hs.next": NEW}}).besides == (other,)
    slurm = KeyPlace("slurm.key", "slurm", "auth", "slurm.key", "", None, "pods")
    assert key_of(slurm, {"auth": {"slurm.key": OLD}}).besides == (), "not made yet"
    for document, besides in (
        (several_keys(OLD), ()),
        (several_keys(OLD, NEW), (other,)),
        (several_keys(NEW, OLD), (other,)),
    ):
        assert key_of(slurm, {"auth": {"slurm.key": OLD}, "pods": {"slurm.jwks": document}}).besides == besides


def test_the_configuration_is_read_as_it_is_also_between_two_steps(world: World) -> None:
    """Two marks at a time aren't sound configuration, and just then somebody looks."""
    secrets = {f"slinky-iac:{name}": {"secret": True} for name in ("tokenKeyNext", "tokenKeyPrevious", "slurmKey")}
    world.pulumi["config --json"] = told({"cluster": {"name": "atlas"}}) | secrets
    found = ask._configured("prod", world.run)
    assert (found.marks, found.fault) == (frozenset({"tokenKeyNext", "tokenKeyPrevious"}), "")
    assert found.config is not None
    world.pulumi["config --json"] = told({"cluster": 7}) | secrets
    found = ask._configured("prod", world.run)
    assert (found.marks, found.config) == (frozenset({"tokenKeyNext", "tokenKeyPrevious"}), None)
    assert "cluster" in found.fault
