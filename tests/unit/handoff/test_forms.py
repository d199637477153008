"""The three forms of a hand-off: complete, well-formed, and without a key unless it was asked for."""

from __future__ import annotations

import base64
import gzip
import hashlib
import subprocess
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slinky_iac.commands.handoff.common import Known
from slinky_iac.commands.handoff.forms import LIMIT, render
from slinky_iac.commands.handoff.model import HostLine, Rendered
from slinky_iac.commands.handoff.role_sheets import handoff
from slinky_iac.config.fields import is_address
from slinky_iac.config.reading.load import load
from slinky_iac.errors import HandoffError
from tests.clusters import all_traces
from tests.stacks import EXAMPLES, merged, read_yaml, sections
from tests.unit.handoff.made import FORMS, KEYS, KNOWN, made, texts

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
each_form = pytest.mark.parametrize("form", FORMS)


@each_example
@each_form
def test_without_the_flag_no_byte_of_a_key_is_rendered(example: Path, form: str) -> None:
    files = texts(FORMS[form](made(example), None))
    assert [(path, trace[:4]) for path, text in files.items() for trace in all_traces() if trace in text] == []
    assert [path for path in files if path.endswith(".key")] == []


@each_example
@each_form
def test_with_the_flag_keys_are_in_private_files_and_nowhere_else(example: Path, form: str) -> None:
    files = FORMS[form](made(example), KEYS)
    holding = {str(f.path): f for f in files if any(trace in f.content.decode("latin-1") for trace in all_traces())}
    assert holding
    assert {f.mode for f in holding.values()} == {0o600}
    for path, file in holding.items():
        if form == "cloud-init":
            written = {w["path"]: w for w in read_yaml(file.content)["write_files"]}
            slurm_key = written["/etc/slurm/slurm.key"]
            assert base64.b64decode(slurm_key["content"]) == KEYS["slurm.key"]
            assert (slurm_key["permissions"], slurm_key["owner"]) == ("0600", "slurm:slurm")
        else:
            assert file.content == KEYS[PurePosixPath(path).name]


@each_form
def test_a_rendered_key_doesn_t_show_in_a_representation(form: str) -> None:
    shown = repr(FORMS[form](made(EXAMPLES[0]), KEYS))
    assert [trace[:4] for trace in all_traces() if trace in shown] == []


@each_example
@each_form
def test_paths_are_below_the_output_folder_and_distinct(example: Path, form: str) -> None:
    paths = [each.path for each in FORMS[form](made(example), KEYS)]
    assert len(set(paths)) == len(paths)
    assert not any(path.is_absolute() or ".." in path.parts for path in paths)


@each_example
@each_form
def test_the_same_stack_gives_the_same_bytes(example: Path, form: str) -> None:
    again = render(form, handoff(load(sections(example)), KNOWN), None)
    assert [f.content for f in again] == [f.content for f in FORMS[form](made(example), None)]


@each_example
def test_every_script_is_one_that_bash_reads(example: Path) -> None:
    scripts = [f for f in FORMS["folder"](made(example), None) if f.content.startswith(b"#!/bin/bash")]
    assert len(scripts) == 2 * len(made(example).sheets)
    for script in scripts:
        done = subprocess.run(["bash", "-n"], input=script.content, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b""), script.path
        assert script.mode == 0o755


def folder(files: tuple[Rendered, ...], role: str) -> dict[str, str]:
    return {path.split("/", 1)[1]: text for path, text in texts(files).items() if path.startswith(f"{role}/")}


def test_a_role_s_folder_holds_its_files_as_they_lie_on_the_host() -> None:
    found = folder(FORMS["folder"](made(EXAMPLES[1]), KEYS), "login")
    assert set(found) == {
        "README.md",
        "install.sh",
        "files/etc/systemd/system/sackd.service.d/10-slinky-iac.conf",
        "files/usr/local/sbin/slurm-check-login",
        "keys/slurm.key",
    }


def test_no_group_of_the_inventory_is_called_as_a_host_is() -> None:
    """Else Ansible gives that host's address to all of the group, and runs the play on it alone."""
    logins = [{"name": "login", "address": "192.0.2.1"}, {"name": "login_hosts"}, {"name": "login-2"}]
    over = {"external": {"loginHosts": logins}, "controller": {"external": {"host": "slurmctld"}}}
    config = load(merged(sections(EXAMPLES[1]), over))
    files = texts(FORMS["ansible"](handoff(config, Known()), None))
    groups, plays = read_yaml(files["inventory.yaml"]), read_yaml(files["handoff.yaml"])
    hosts = {host for group in groups.values() for host in group["hosts"]}
    assert {"login", "login_hosts", "slurmctld"} <= hosts
    assert not hosts & groups.keys()
    assert [play["hosts"] for play in plays] == list(groups)


HOSTILE = [
    "192.0.2.1; touch x #",
    "192.0.2.1\n192.0.2.66 login",
    "{{ lookup('pipe','id') }}",
    "192.0.2.1 {{ 1 }}",
    "$(id)",
    "fe80::1%$(id)",
    "lb.example.org",
    "",
]
"""What an API server that isn't a friend may say is a load balancer's address."""


@given(address=st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40), st.ip_addresses().map(str)))
def test_slurmctld_s_address_is_an_ip_address_in_every_form_or_nothing_is_rendered(address: str) -> None:
    known = Known(slurmctld_address=address)
    if is_address(address):
        handed = made(EXAMPLES[0], known)
        for form in FORMS.values():
            assert any(address in text for text in texts(form(handed, None)).values())
        return
    with pytest.raises(HandoffError, match=r"not an IP address.*--slurmctld-address") as refused:
        made(EXAMPLES[0], known)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("address", HOSTILE)
def test_no_hostile_address_passes_for_one(address: str) -> None:
    assert not is_address(address)


@pytest.mark.parametrize("name", ["login; id", "a b", "{{x}}", "$(id)", "a\nb", "-x", "", "a'b"])
def test_a_line_of_etc_hosts_has_no_name_that_a_shell_or_jinja_reads(name: str) -> None:
    with pytest.raises(HandoffError, match="not a valid host name"):
        HostLine((name,), "192.0.2.1")


@each_example
def test_the_playbook_copies_only_what_lies_beside_it(example: Path) -> None:
    files = texts(FORMS["ansible"](made(example), KEYS))
    plays = read_yaml(files["handoff.yaml"])
    sources = [
        task["ansible.builtin.copy"]["src"] for play in plays for task in play["tasks"] if "ansible.builtin.copy" in task
    ]
    assert sources
    assert {source.replace("{{ slurm_keys }}", "keys") for source in sources} <= set(files)


@each_example
def test_the_playbook_never_logs_a_key_and_has_a_group_of_hosts_for_each_play(example: Path) -> None:
    files = texts(FORMS["ansible"](made(example), None))
    plays, groups = read_yaml(files["handoff.yaml"]), read_yaml(files["inventory.yaml"])
    assert [play["hosts"] for play in plays] == list(groups)
    for play in plays:
        copies = [t for t in play["tasks"] if "slurm_keys" in str(t.get("ansible.builtin.copy", {}).get("src", ""))]
        assert len(copies) == len([task for task in play["tasks"] if task["name"].startswith("Stop unless")])
        assert all(task["no_log"] is True and task["diff"] is False for task in copies)
        assert play["vars"]["slurm_keys"] == ""


@each_example
def test_the_playbook_takes_another_place_of_the_jwt_key_in_each_of_its_tasks(example: Path) -> None:
    for play in read_yaml(texts(FORMS["ansible"](made(example), None))["handoff.yaml"]):
        of_key = [task for task in play["tasks"] if task["name"].partition(" ")[2].startswith("jwt_hs256.key")]
        assert bool(of_key) == (play["vars"].get("slurm_jwt_key") == "/etc/slurm/jwt_hs256.key")
        for task in of_key:
            module = next(value for name, value in task.items() if name.startswith("ansible.builtin."))
            assert "{{ slurm_jwt_key }}" in {module.get("dest"), module.get("path")}
        assert "/etc/slurm/jwt_hs256.key" not in str(play["tasks"])


def test_the_playbook_compares_the_fingerprint_that_the_stack_has() -> None:
    plays = read_yaml(texts(FORMS["ansible"](made(EXAMPLES[1]), None))["handoff.yaml"])
    login = next(play for play in plays if play["hosts"] == "login")
    stop = next(task for task in login["tasks"] if "ansible.builtin.assert" in task)
    assert stop["vars"] == {"slurm_handoff_expected": hashlib.sha256(KEYS["slurm.key"]).hexdigest()}
    unknown = read_yaml(texts(FORMS["ansible"](made(EXAMPLES[1], Known()), None))["handoff.yaml"])
    assert "slurm_handoff_expected" not in str(unknown)


@each_example
def test_user_data_fits_into_what_clouds_take(example: Path) -> None:
    keys = {name: bytes(range(256)) * 4 for name in KEYS}
    for file in FORMS["cloud-init"](made(example), keys):
        if file.path.suffix == ".yaml":
            assert file.content.startswith(b"#cloud-config\n")
            assert len(file.content) < LIMIT, file.path


@each_example
def test_the_packed_check_is_the_one_that_the_folder_has(example: Path) -> None:
    whole = texts(FORMS["folder"](made(example), None))
    for path, text in texts(FORMS["cloud-init"](made(example), None)).items():
        if path.endswith(".yaml"):
            role = path.removesuffix(".yaml")
            check = f"/usr/local/sbin/slurm-check-{role}"
            (packed,) = [each for each in read_yaml(text)["write_files"] if each["path"] == check]
            assert packed["encoding"] == "gz+b64"
            assert gzip.decompress(base64.b64decode(packed["content"])).decode() == whole[f"{role}/files{check}"]


def test_the_admin_s_own_files_are_never_written_by_user_data() -> None:
    for path, text in texts(FORMS["cloud-init"](made(EXAMPLES[1]), KEYS)).items():
        if path in {"slurmctld.yaml", "slurmdbd.yaml"}:
            written = {each["path"] for each in read_yaml(text)["write_files"]}
            assert written & {"/etc/slurm/slurm.conf", "/etc/slurm/slurmdbd.conf"} == set()


@each_example
def test_a_playbook_places_nothing_on_a_host_that_lacks_a_key(example: Path) -> None:
    """What was placed before the play ended would be unchanged in the next one, and no play would restart the daemon."""
    for play in read_yaml(texts(FORMS["ansible"](made(example), None))["handoff.yaml"]):
        named = [task["name"] for task in play["tasks"]]
        stops = [at for at, name in enumerate(named) if name.startswith("Stop unless ")]
        files = [at for at, name in enumerate(named) if name.startswith("Place ") and not name.endswith(".key")]
        assert files
        assert max(stops, default=0) < min(files)
