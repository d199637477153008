"""`slinky qualify` as it is called, against an API server on a socket: whatever cuts it off, the user's own stays, the
ladder's goes, and the message says what is true."""

from __future__ import annotations

import fcntl
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from slinky_iac.commands.qualify import settings
from slinky_iac.errors import ConfigError, KubeError, KubeNotFound, ProjectError, SlinkyError
from tests.unit.qualify.site import Site, listening, made, taking
from tests.unit.qualify.test_qualify import READY, Cluster, missing

TOKEN = "kubeconfig-like-secret"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def other() -> Cluster:
    return Cluster()


@pytest.fixture
def site(cluster: Cluster, other: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site on a test cluster, and another cluster of the same user."""
    with listening(cluster.handle) as test, listening(other.handle) as second:
        yield made(tmp_path, monkeypatch, test=test, other=second)


def left(site: Site, cluster: Cluster) -> tuple[bool, set[str]]:
    """Whether the ladder's folder is there, and all nodes."""
    return os.path.lexists(site.ladders), set(cluster.nodes)


NOTHING = (False, {"real-1"})

# -- cut off --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def terminal() -> Iterator[None]:
    """As in a terminal: where these tests run under `nohup`, they inherit that the end of a terminal is ignored."""
    with taking(signal.SIGHUP, signal.SIG_DFL):
        yield


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("sign", ["INT", "TERM", "HUP"])
def test_a_signal_in_an_update_ends_it_and_removes_all(
    site: Site, cluster: Cluster, sign: str, capsys: pytest.CaptureFixture[str]
) -> None:
    site.act("up", f"trap 'echo up ended >> \"$SEEN\"; exit 130' INT\nkill -{sign} $PPID\nwait_for_it")
    assert site.run() == 130
    assert left(site, cluster) == NOTHING
    assert site.seen.index("up ended") < site.seen.index("destroy --yes"), "nothing runs beside what removes the rung"
    assert "interrupted; nothing of the ladder is left" in capsys.readouterr().err


def test_ctrl_c_before_the_first_update_removes_all(site: Site, cluster: Cluster) -> None:
    site.act("stack", "kill -INT $PPID")
    assert site.run() == 130
    assert left(site, cluster) == NOTHING


def test_ctrl_c_in_the_wait_for_kwok_removes_all(site: Site, cluster: Cluster) -> None:
    asked: list[str] = []

    def handle(request: httpx.Request) -> httpx.Response:
        if request.method == "GET" and len(cluster.nodes) == 3 and not asked:
            asked.append(request.url.path)
            os.kill(os.getpid(), signal.SIGINT)
        return cluster.handle(request)

    cluster.kwok = False
    with listening(handle) as address:
        site.kubeconfig(test=address)
        assert site.run() == 130
    assert left(site, cluster) == NOTHING


def test_a_signal_in_a_clean_says_what_is_left(site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    killed(site, cluster)
    capsys.readouterr()
    site.act("destroy", "trap 'exit 130' INT\nkill -TERM $PPID\nwait_for_it")
    assert site.run("--clean") == 3
    assert "Not all of the ladder is removed" in capsys.readouterr().err
    assert len(cluster.nodes) == 3


def test_a_lost_connection_says_why_and_what_is_left(
    site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    site.act("up", 'touch "$ACTS/lost"')
    site.act("destroy", 'echo "error: no API server"; exit 1')

    def handle(request: httpx.Request) -> httpx.Response:
        return missing(500) if (site.acts / "lost").exists() else cluster.handle(request)

    with listening(handle) as address:
        site.kubeconfig(test=address)
        assert site.run() == 3
        said = capsys.readouterr().err
        assert "Not all of the ladder is removed" in said
        assert said.index("HTTP 500") < said.index("destroy failed") < said.index("Run `slinky qualify --clean")
        (site.acts / "lost").unlink()
        site.act("up", "exit 0")
        site.act("destroy", "exit 0")
        assert site.run("--clean") == 0
    assert left(site, cluster) == NOTHING


def test_of_a_rung_that_is_cut_off_the_steps_that_ended_are_shown(
    site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    site.act("up", "exit 0")
    with pytest.raises(KubeNotFound):  # no key for slurmrestd is behind this cluster
        site.run()
    (row,) = [line for line in capsys.readouterr().err.splitlines() if line.split()[:2] == ["2", "install"]]
    assert row
    assert left(site, cluster) == NOTHING


def test_the_second_ctrl_c_kills_the_update_before_it_is_removed(site: Site, cluster: Cluster) -> None:
    """One that doesn't end in order would else run beside the destroy, with its lock lifted."""
    site.act("up", "trap 'kill -INT $PPID' INT\necho $$ > \"$ACTS/pid\"\nkill -INT $PPID\nwait_for_it")
    site.act("destroy", 'kill -0 $(cat "$ACTS/pid") 2>/dev/null && echo beside an update >> "$SEEN"')
    assert site.run() == 130
    assert left(site, cluster) == NOTHING
    assert "beside an update" not in site.seen


def test_ctrl_c_in_the_removal_says_what_is_left_and_the_whole_command(
    site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    site.act("up", "exit 1")
    site.act("destroy", "trap 'kill -INT $PPID' INT\nkill -INT $PPID\nwait_for_it")
    assert site.run("--context", "test") == 3
    said = capsys.readouterr().err
    assert "install failed" in said, "why it came to this isn't lost"
    assert "`slinky qualify --clean --config Pulumi.prod.yaml --context test` in this folder" in said
    assert "nothing of the ladder is left" not in said
    site.act("destroy", "exit 0")
    assert site.run("--clean") == 0
    assert left(site, cluster) == NOTHING


def test_a_removal_that_fails_doesnt_say_that_all_is_removed(
    site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    site.act("up", "exit 1")
    site.act("destroy", "exit 1")
    assert site.run() == 3
    said = capsys.readouterr().err
    assert "Not all of the ladder is removed" in said
    assert "is removed\n" not in said.replace("Not all of the ladder is removed", "")
    assert len(cluster.nodes) == 3
    assert site.ladders.is_dir()


def test_a_throttled_destroy_has_still_destroyed(site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    throttled = 'echo "gates kubernetes 429 1000" >> "$SLINKY_IAC_REQUESTS"'
    site.act("up", throttled)
    site.act("destroy", throttled)
    assert site.run() == 3
    assert left(site, cluster) == NOTHING
    said = capsys.readouterr().err
    assert "the API server throttles this user" in said
    assert "Not all" not in said


class Gone(io.StringIO):
    """A pipe without a reader."""

    def write(self, _: str) -> int:
        raise BrokenPipeError


def test_a_reader_that_has_gone_keeps_nothing_there(site: Site, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    site.act("up", "exit 1")
    monkeypatch.setattr(sys, "stderr", Gone())
    with pytest.raises(BrokenPipeError):
        site.run()
    assert left(site, cluster) == NOTHING


def killed(site: Site, cluster: Cluster) -> None:
    """A ladder whose process was killed in its first update."""
    site.act("up", "exit 1")
    site.act("destroy", "exit 1")
    assert site.run() == 3
    assert len(cluster.nodes) == 3
    site.act("destroy", "exit 0")


def test_an_update_that_outlives_its_command_is_ended_before_it_is_removed(site: Site, cluster: Cluster) -> None:
    killed(site, cluster)
    lock = site.ladders / "lock"
    with lock.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        orphan = subprocess.Popen(["sleep", "600"], pass_fds=[held.fileno()], start_new_session=True)
    ended = subprocess.Popen(["true"])
    ended.wait()
    lock.write_text(f"{ended.pid} {orphan.pid}\n")
    assert site.run("--clean") == 0
    assert orphan.wait(10) == -signal.SIGINT
    assert left(site, cluster) == NOTHING


# -- whose it is ----------------------------------------------------------------------------------------------------------


def test_a_ladder_at_work_in_the_folder_is_left_alone(
    site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    killed(site, cluster)
    before = site.seen, set(cluster.nodes)
    lock = site.ladders / "lock"
    lock.write_text(f"{os.getpid()} {os.getpgid(0)}\n")
    with lock.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ProjectError, match=rf"at work in .* \(process {os.getpid()}\)\. Nothing was removed.*kill -INT"):
            site.run("--clean")
        assert site.run() == 3
    assert "a ladder is at work in this folder" in capsys.readouterr().err
    assert (site.seen, set(cluster.nodes)) == before


def test_a_ladder_of_another_folder_is_left_alone(site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.fleet("another").make(2)
    cluster.namespaces = {settings.NAMESPACE}
    assert site.run() == 3
    assert site.run("--clean") == 3
    first, second = capsys.readouterr().err.splitlines()
    assert "a ladder of another folder is at work, or was cut off: there are 2 Kubernetes nodes" in first
    assert "of a ladder of another folder" in second
    assert "nothing of a ladder is left" not in second
    assert len(cluster.nodes) == 3


def test_two_that_begin_at_once_on_one_cluster_dont_take_each_others_nodes(
    site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second one's check saw nothing; the first has made its nodes since."""

    def late(request: httpx.Request) -> httpx.Response:
        if request.method == "POST" and not cluster.deleted and len(cluster.nodes) == 1:
            cluster.fleet("another").make(2)
        if request.method == "POST" and json.loads(request.content)["metadata"]["name"] in cluster.nodes:
            return missing(409)
        return cluster.handle(request)

    with listening(late) as address:
        site.kubeconfig(test=address)
        assert site.run() == 3
    assert "this ladder did not make it" in capsys.readouterr().err
    assert len(cluster.nodes) == 3
    assert not site.ladders.exists()


def test_the_clean_of_another_cluster_removes_nothing_and_names_the_right_one(
    site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    killed(site, cluster)
    capsys.readouterr()
    assert site.run("--clean", "--context", "other") == 3
    assert "Run `slinky qualify --clean --config Pulumi.prod.yaml --context test`" in capsys.readouterr().err
    assert len(cluster.nodes) == 3
    assert site.ladders.is_dir()


def test_the_context_is_that_of_the_beginning(site: Site, cluster: Cluster, other: Cluster) -> None:
    """A user who turns to another cluster meanwhile doesn't take the ladder along."""
    file = site.root / "kubeconfig"
    site.act(
        "up",
        f"cat Pulumi.qualify.yaml >> \"$SEEN\"\nsed -i 's/current-context: test/current-context: other/' {file}\nexit 1",
    )
    site.act("destroy", 'cat Pulumi.qualify.yaml >> "$SEEN"')
    assert site.run() == 3
    assert "current-context: other" in file.read_text()
    assert '"context": "test"' in site.seen
    assert set(other.nodes) == {"real-1"}
    assert left(site, cluster) == NOTHING


def test_a_node_with_the_ladders_label_that_no_ladder_made_is_refused_and_stays(
    site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"name": "real-2", "uid": "u-2", "labels": {settings.LABEL: settings.RUN}}
    cluster.nodes["real-2"] = {"metadata": own, "status": READY}
    assert site.run() == 3
    assert "kubectl label node real-2 slinky-iac/qualify-`" in capsys.readouterr().err
    assert site.run("--clean") == 0
    assert cluster.deleted == []


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_what_no_ladder_made_in_its_folders_place_stays(site: Site, cluster: Cluster, kind: str) -> None:
    mine = site.root / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("mine")
    if kind == "file":
        site.ladders.write_text("mine")
    elif kind == "link":
        site.ladders.symlink_to(mine)
    else:
        mine.rename(site.ladders)
    with pytest.raises(ProjectError, match="no ladder made"):
        site.run("--clean")
    assert site.run() == 3
    assert left(site, cluster) == (True, {"real-1"})
    assert kind != "folder" or (site.ladders / "thesis.txt").read_text() == "mine"
    assert kind != "link" or (mine / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("ending", [True, False])
def test_a_namespace_that_stays_is_not_nothing(
    site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str], ending: bool
) -> None:
    cluster.namespaces = {settings.NAMESPACE}
    cluster.ending = ending
    assert [site.run(), site.run("--clean")] == [3, 3]
    out, err = capsys.readouterr()
    assert out == ""
    assert ("is being deleted" in err) == ending
    assert ("kubectl delete namespace" in err) != ending


# -- what it is given -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "config: [",
        "- a\n- b\n",
        "",
        "SlurmctldHost=ctl\nClusterName=x\n",
        "config:\n  kubernetes: {context: other}\n",
        "config:\n  slinky-iac:kubernetes: prod\n",
        "config:\n  slinky-iac:operator: x\n",
        "config:\n  slinky-iac:cluster: [x]\n",
        "config:\n  slinky-iac:kubernetes: {secure: v1:AAAA}\n",
        "config:\n  slinky-iac:kubernetes: {context: [other]}\n",
        f"config:\n  slinky-iac:controller: {{extraConf: {TOKEN}}}\n  slinky-iac:restapi: 3\n",
    ],
)
@pytest.mark.parametrize("clean", [True, False])
def test_a_file_that_isnt_read_as_it_is_meant_begins_nothing(site: Site, cluster: Cluster, text: str, clean: bool) -> None:
    """What isn't read would have its default: for the kubeconfig the user's own, on whatever cluster that is."""
    site.config.write_text(text)
    with pytest.raises(ConfigError) as refused:
        site.run(*(["--clean"] if clean else []))
    assert TOKEN not in str(refused.value)
    assert site.seen == ""
    assert left(site, cluster) == NOTHING


@pytest.mark.parametrize(
    ("program", "runtime"),
    [("HybridCluster('prod')", "python"), ("new HybridCluster()", "nodejs"), ("x", "{name: go, options: {}}")],
)
def test_a_program_that_describes_its_own_cluster_is_not_run(
    site: Site, cluster: Cluster, program: str, runtime: str
) -> None:
    """It would build the site's cluster, in the site's namespace, with a state that knows nothing of it."""
    (site.folder / "__main__.py").write_text(program)
    (site.folder / "Pulumi.yaml").write_text(f"name: prod\nruntime: {runtime}\n")
    with pytest.raises(SlinkyError, match=r"Nothing was made\. Make a project beside it"):
        site.run()
    assert site.seen == ""
    assert left(site, cluster) == NOTHING


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>log in</html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"items": [{"metadata": "x"}]}),
        httpx.Response(200, text=""),
        missing(403),
        missing(500),
    ],
)
def test_an_api_server_that_answers_garbage_or_no_begins_nothing(
    site: Site, cluster: Cluster, answer: httpx.Response
) -> None:
    cluster.every = answer
    with pytest.raises(KubeError) as refused:
        site.run()
    assert "log in" not in str(refused.value)
    assert site.seen == ""


@pytest.mark.parametrize(("method", "path"), [("POST", "/api/v1/nodes"), ("GET", "/api/v1/nodes"), ("GET", "/controllers")])
def test_an_api_server_that_throttles_is_refused_wherever_it_does(
    site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str], method: str, path: str
) -> None:
    cluster.no = (method, path, 429)
    assert site.run() == 3
    assert "the API server throttles this user" in capsys.readouterr().err


def test_nodes_that_may_not_be_deleted_are_named_and_the_folder_stays(
    site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    site.act("up", "exit 1")
    cluster.no = ("DELETE", "/slinky-qualify-0", 403)
    assert site.run() == 3
    assert "Not all of the ladder is removed" in capsys.readouterr().err
    assert set(cluster.nodes) == {"real-1", "slinky-qualify-0"}, "the others are"
    assert site.ladders.is_dir()
    cluster.no = None
    assert site.run("--clean") == 0
    assert left(site, cluster) == NOTHING


def test_a_context_that_isnt_there_is_said_with_those_that_are(site: Site, cluster: Cluster) -> None:
    for more in ([], ["--clean"]):
        with pytest.raises(KubeError, match=r"context 'prod' isn't in it; it has: other, test\. Set --context"):
            site.run("--context", "prod", *more)
    assert left(site, cluster) == NOTHING


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"unschedulable": True}},
        {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
        {"metadata": {"name": "real-1", "uid": "u-1", "annotations": {"kwok.x-k8s.io/node": "fake"}}},
    ],
)
def test_a_node_that_runs_no_pods_is_no_room(
    site: Site, cluster: Cluster, capsys: pytest.CaptureFixture[str], change: dict[str, object]
) -> None:
    cluster.nodes["real-1"] |= change
    assert site.run() == 3
    assert "this cluster has no ready node that takes pods" in capsys.readouterr().err
