"""Neither key is anywhere but in its Secret, a client's and its file: state, history, logs, previews, plans, pages, scripts,
pods, events, processes; nor is a person's token that the operator made. The stack has clients, a job, a token and the
CronJob of monitoring. The token key, the database password and munge.key have this walk where they are used (tests/faults).
"""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from lab import engine, paths
from lab.slurm import cluster, conf
from lab.stacks import Stack, imported_keys
from slinky_iac.commands.handoff.forms import FORMS
from tests.e2e.rotating import VIA
from tests.e2e.running import fresh, script
from tests.e2e.slurm import Slurm, await_true
from tests.e2e.world import Settings, World, dev_settings
from tests.integration import leaks

COMMANDS = (
    ("check", "Pulumi.leaks.yaml"),
    ("status", "--json"),
    ("status", "--prometheus"),
    ("client", "nb"),
    ("client", "nb", "--person", "carol"),
    ("drift",),
    ("drain", "status"),
    ("preflight", "--no-pod"),
    ("preflight", "--no-pod", "--json"),
    ("verify-state",),
    ("keys", "show"),
    ("keys", "verify"),
    ("keys", "rotate", "slurm", "--plan"),
    ("keys", "rotate", "jwt", "--plan"),
    ("rights", "--for", "apply"),
    ("diagram",),
    ("init", "read", "--slurmctld", "ctl", "--via", VIA, "--nodeset", "burst=1", "--base", "base.yaml"),
)
"""What people run and paste elsewhere."""
KEY_SECRETS = {"slurm-auth-slurm", "slurm-auth-jwths256", "slurm-client-nb", "slurm-ci-token"}
SAID = {
    "client-nb.txt": "slurm-client-nb",
    "client-nb---person.txt": "kind: Pod",
    "status---prometheus.txt": "slinky_",
    "verify-state.txt": "the state holds no foreign code",
    "init-read---slurmctld.txt": "slurmKey: imported",
}
"""Commands that came last, and a word of their answers."""
STATUS = {
    "image": "slinky-lab/busybox:1",
    "serviceAccount": "slinky-status",
    "folder": "/var/lib/node_exporter",
    "schedule": "0 0 1 1 *",
}


def small(settings: Settings) -> None:
    """One NodeSet of one pod, and what else there is beside daemons."""
    settings["slinky-iac:nodesets"] = {"gpu": {"replicas": 1, "pod": {"terminationGrace": "2s"}}}
    settings["slinky-iac:partitions"] = {}
    people = {"carol": {"uid": 23456, "gid": 23456, "home": "/tmp"}}
    settings["slinky-iac:clients"] = {"nb": {"namespace": "walk", "people": people, "deployment": {"person": "carol"}}}
    settings["slinky-iac:tokens"] = {"ci": {"user": "alice"}}
    settings["slinky-iac:jobs"] = {JOB: script("echo $GREETING", environment={"GREETING": "hello"})}
    settings["slinky-iac:monitoring"] = {"dashboard": True, "status": STATUS}


JOB = fresh("walk")
LOOKS = 20
"""At the arguments of one process, a tenth of a second apart."""


class Arguments:
    """Command lines of all processes that are seen while it watches."""

    def __init__(self) -> None:
        self.seen: set[bytes] = set()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Arguments:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        looks: Counter[str] = Counter()  # a process becomes another program soon after its start, or never
        while not self._end.wait(0.1):
            there = {process.name for process in Path("/proc").iterdir() if process.name.isdecimal()}
            looks = Counter({name: looks[name] + 1 for name in there})
            for name in there:
                if looks[name] > LOOKS:
                    continue
                try:
                    self.seen.add(Path("/proc", name, "cmdline").read_bytes())
                except OSError:
                    continue


@dataclass(frozen=True)
class Lived:
    """A stack with some history, and a folder of what was said and shown while it was made."""

    stack: Stack
    told: Path
    token: bytes = field(repr=False)
    """What the operator made for alice."""

    def everywhere(self, keys: dict[str, bytes], *folders: Path) -> list[str]:
        """Places under the folders that hold a key or the token, in any form."""
        return everywhere(keys | {"alice's token": self.token}, *folders)


@pytest.fixture(scope="module")
def keys() -> dict[str, bytes]:
    """Both keys of the outside hosts, which the stack imports."""
    return imported_keys()


@pytest.fixture(scope="module")
def lived(world: World, slurm: Slurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    assert slurm.jobs() is not None, "slurmctld knows alice"
    world.vacate()
    told = tmp_path_factory.mktemp("told")
    with Arguments() as arguments:
        stack = world.stack("leaks", dev_settings(small))

        def tell(name: str, *command: str) -> None:
            done = stack.pulumi(*command)
            (told / f"{name}.log").write_text(done.stdout + done.stderr)

        tell("plan", "preview", "--diff", "--save-plan", str(told / "plan.json"))
        tell("json", "preview", "--json", "--show-replacement-steps")
        tell("up", "up", "--yes", "--skip-preview", "--diff")  # not -v=9: Pulumi itself warns that it then logs secrets
        keep_jobs(told / "slurmctld")
        stack = world.stack("leaks", dev_settings(small, _annotated))
        tell("second", "preview", "--diff", "--show-sames", "--show-reads")
        tell("second-json", "preview", "--json", "--show-sames")
        tell("second-up", "up", "--yes", "--skip-preview", "--diff")
        tell("refresh", "refresh", "--yes", "--skip-preview", "--diff")
        tell("export", "stack", "export")
        tell("outputs", "stack", "output", "--json")
        tell("config", "config", "--json")
        tell("history", "stack", "history", "--json")
        world.stack("leaks", dev_settings(small, _annotated, _fewer))
        (told / "less.json").write_text(stack.pulumi("preview", "--json").stdout)

        def ask(name: str, *command: str) -> None:
            done = stack.program(*command)
            (told / f"{name}.txt").write_text(done.stdout + done.stderr)

        (told / "pages").mkdir()
        ask("plan-said", "plan", str(told / "less.json"), "--folder", str(told / "pages"))
        for form in FORMS:
            ask(f"handoff-{form}", "handoff", "--format", form, "--out", str(told / f"handoff-{form}"))
        base = {name: settings for name, settings in dev_settings().items() if name.endswith((":operator", ":cluster"))}
        (stack.folder / "base.yaml").write_text(yaml.safe_dump({"config": base}))
        for each in COMMANDS:  # the last one selects a stack of its own
            ask("-".join(each[:3]), *each)
        world.stack("leaks", dev_settings(small, _annotated))
    (told / "arguments.txt").write_bytes(b"\n".join(sorted(arguments.seen)))
    await_true("the operator has made the token", lambda: token_of(world), 60)
    yield Lived(stack, told, token_of(world))
    stack.pulumi("stack", "rm", "--yes", "--stack", "read", check=False)
    (stack.folder / "Pulumi.read.yaml").unlink(missing_ok=True)
    world.vacate()


def keep_jobs(folder: Path) -> None:
    """What slurmctld has of each job, for MinJobAge after its end: its script and its environment."""
    for file in cluster.LAB.hosts.inside("ctl", conf.STATE_SAVE.lstrip("/")).glob("hash.*/job.*/*"):
        (folder / file.parent.name).mkdir(parents=True, exist_ok=True)
        (folder / file.parent.name / file.name).write_bytes(file.read_bytes())


def token_of(world: World) -> bytes:
    """The token in its Secret; empty while there is none."""
    found = world.kubectl("get", "secret", "slurm-ci-token", "-n", "slurm", "-o", "jsonpath={.data.token}", check=False)
    return base64.b64decode(found.stdout)


def _annotated(settings: Settings) -> None:
    settings["slinky-iac:restapi"]["pod"]["annotations"] = {"example.org/owner": "hpc"}


def _fewer(settings: Settings) -> None:
    settings["slinky-iac:nodesets"]["gpu"]["replicas"] = 0


def everywhere(keys: dict[str, bytes], *folders: Path) -> list[str]:
    """Places under the folders that hold either key, in any form."""
    return [f"{name} in {place}" for name, key in keys.items() for place in leaks.find(key, *folders)]


def test_the_search_finds_a_key_in_every_form(keys: dict[str, bytes], lived: Lived, tmp_path: Path) -> None:
    export = lived.stack.pulumi("stack", "export", "--show-secrets").stdout
    (tmp_path / "shown.json").write_text(export)
    assert {place.split(" in ")[0] for place in everywhere(keys, tmp_path)} == set(keys), "it is there when asked for"
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    for name, key in keys.items():
        for form, value in leaks.encodings(key).items():
            (tmp_path / f"{name} {form.replace('/', ' ')}").write_bytes(b'{"x": "' + value + b'"}')
        (tmp_path / f"{name} zipped").write_bytes(gzip.compress(base64.b64encode(key)))
    found = {place.rsplit("/", 1)[1].rsplit(": ", 1)[0] for place in everywhere(keys, tmp_path)}
    assert found == {file.name for file in tmp_path.iterdir()}


def test_state_history_backups_and_settings_hold_no_key(keys: dict[str, bytes], lived: Lived) -> None:
    files = [file for file in engine.BACKEND.rglob("*") if file.is_file()]
    assert [file for file in files if "history" in file.parts], "there is a history to search"
    assert [file for file in files if "backups" in file.parts], "there are backups to search"
    assert lived.everywhere(keys, engine.BACKEND, lived.stack.folder) == []


def test_every_pickled_provider_holds_no_key(keys: dict[str, bytes], lived: Lived, tmp_path: Path) -> None:
    export = json.loads(lived.stack.pulumi("stack", "export", "--show-secrets").stdout)
    count = 0
    for resource in export["deployment"]["resources"]:
        for where in ("inputs", "outputs"):
            provider = resource.get(where, {}).get("__provider")
            if provider is not None:
                text = json.loads(provider["plaintext"]) if isinstance(provider, dict) else provider
                (tmp_path / str(count)).write_bytes(base64.b64decode(text))
                count += 1
    assert count >= 6, "two gates, outside hosts, identity, in inputs and outputs"
    assert lived.everywhere(keys, tmp_path) == []


def test_previews_updates_plans_pages_and_scripts_hold_no_key(keys: dict[str, bytes], lived: Lived) -> None:
    said = {str(file.relative_to(lived.told)): file.stat().st_size for file in lived.told.rglob("*") if file.is_file()}
    empty = {name for name, size in said.items() if not size and not name.endswith("/.slinky-iac-handoff")}
    assert empty == {"plan-said.txt"}, "it writes pages and says nothing; a hand-off's mark is empty"
    environments = [file.read_bytes() for file in (lived.told / "slurmctld").rglob("environment")]
    assert any(b"GREETING=hello" in each for each in environments), "the job's environment is searched"
    assert {"order.html", "order.md", "install.sh"} <= {Path(name).name for name in said}
    for name, word in SAID.items():
        assert word in (lived.told / name).read_text(), f"{name} says what it is for"
    assert lived.everywhere(keys, lived.told) == []


def test_no_process_was_given_a_key_as_an_argument(keys: dict[str, bytes], lived: Lived) -> None:
    seen = (lived.told / "arguments.txt").read_bytes()
    for program in (b"pulumi\0config\0set\0--secret", b"pulumi\0up", b"pulumi-resource-kubernetes", b"dynamic"):
        assert program in seen, f"{program!r} was watched"
    forms = [form for key in (*keys.values(), lived.token) for form in leaks.encodings(key).values()]
    assert not any(form in seen for form in forms)


def test_logs_of_the_lab_hold_no_key(keys: dict[str, bytes], lived: Lived) -> None:
    assert lived.stack.outputs()["nodesets"] == {"gpu": 1}
    assert lived.everywhere(keys, paths.LOGS) == []


def test_no_object_but_the_secrets_of_keys_and_tokens_holds_one(
    keys: dict[str, bytes], lived: Lived, world: World, tmp_path: Path
) -> None:
    assert lived.stack.outputs()["nodesets"] == {"gpu": 1}
    objects = world.everything()
    events = json.loads(world.kubectl("get", "events", "-A", "-o", "json").stdout)["items"]
    assert events
    ours = [item for item in objects if item["kind"] == "Secret" and item["metadata"]["name"] in KEY_SECRETS]
    assert len(ours) == len(KEY_SECRETS)
    rest = [item for item in objects if item not in ours]
    kinds = {item["kind"] for item in rest}
    assert kinds >= {"Pod", "ConfigMap", "Secret", "NodeSet", "Controller", "RestApi", "Deployment", "Token", "CronJob"}, (
        kinds
    )
    for kind in kinds:
        (tmp_path / f"{kind}.json").write_text(json.dumps([item for item in rest if item["kind"] == kind]))
    (tmp_path / "events.json").write_text(json.dumps(events))
    for item in rest:
        if item.get("type") == "helm.sh/release.v1":
            release = gzip.decompress(base64.b64decode(base64.b64decode(item["data"]["release"])))
            (tmp_path / item["metadata"]["name"]).write_bytes(release)
    metadata = [{**item["metadata"]} for item in ours]
    (tmp_path / "metadata.json").write_text(json.dumps(metadata))
    assert lived.everywhere(keys, tmp_path) == []
