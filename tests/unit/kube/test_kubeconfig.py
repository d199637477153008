"""Kubeconfigs as kubectl reads them, and what is said when one can't be used: places, never contents."""

from __future__ import annotations

import base64
import json
import traceback
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from slinky_iac.errors import KubeUnreachable
from slinky_iac.kube.kubeconfig import KubeAccess, KubeSource, load

SECRET = "c2VjcmV0LXRva2VuLW9mLW1pbmU"


GROUP = "client.authentication.k8s.io"
INSECURE = {"insecure-skip-tls-verify": True}


def config(**user: object) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "one",
        "contexts": [
            {"name": "one", "context": {"cluster": "c", "user": "u", "namespace": "slurm"}},
            {"name": "two", "context": {"cluster": "d", "user": "u"}},
        ],
        "clusters": [
            {"name": "c", "cluster": {"server": "https://one:6443/", "certificate-authority-data": b64("ca")}},
            {
                "name": "d",
                "cluster": {
                    "server": "https://two:6443",
                    "insecure-skip-tls-verify": True,
                    "tls-server-name": "inner",
                    "proxy-url": "http://proxy:3128",
                },
            },
        ],
        "users": [{"name": "u", "user": user or {"token": SECRET}}],
    }


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def of(data: object, context: str | None = None) -> KubeAccess:
    return load(KubeSource(content=yaml.safe_dump(data), context=context), env={}, home=Path("/nonexistent"))


def test_the_current_context_or_the_one_asked_for() -> None:
    one = of(config())
    assert (one.server, one.ca, one.insecure, one.namespace) == ("https://one:6443", b"ca", False, "slurm")
    two = of(config(), "two")
    assert (two.server, two.ca, two.insecure, two.namespace) == ("https://two:6443", None, True, "default")
    assert (two.tls_server_name, two.proxy_url) == ("inner", "http://proxy:3128")
    assert SECRET not in repr(one) + repr(two) + repr(KubeSource(content=yaml.safe_dump(config())))


def test_a_file_resolves_its_relative_paths_from_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "client.crt").write_bytes(b"cert")
    (tmp_path / "client.key").write_bytes(b"key")
    data = config(**{"client-certificate": "client.crt", "client-key": "client.key", "tokenFile": "token"})
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(data))
    for source in (KubeSource(path=file), KubeSource(content=f"{file}\n")):
        user = load(source, env={}, home=tmp_path).user
        assert (user.client_cert, user.client_key, user.token_file) == (b"cert", b"key", tmp_path / "token")
        assert "cert" not in repr(user).replace("client_cert", "")


def test_several_files_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.write_text(yaml.safe_dump({"current-context": "two", "users": [{"name": "u", "user": {"token": "first"}}]}))
    second.write_text(yaml.safe_dump(config()))
    access = load(KubeSource(), env={"KUBECONFIG": f"{first}:{tmp_path / 'none'}:{second}"}, home=tmp_path)
    assert access.server == "https://two:6443"
    assert access.user.token == "first"


def test_the_order_is_environment_then_home_then_the_pods_own_account(tmp_path: Path) -> None:
    account = tmp_path / "account"
    account.mkdir()
    (account / "token").write_text("pod-token")
    (account / "ca.crt").write_text("ca")
    (account / "namespace").write_text("slurm\n")
    env = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    pod = load(KubeSource(), env=env, home=tmp_path, service_account=account)
    assert (pod.server, pod.namespace, pod.ca) == ("https://10.0.0.1:443", "slurm", b"ca")
    assert pod.user.token_file == account / "token"
    v6 = load(KubeSource(), env={"KUBERNETES_SERVICE_HOST": "fd00::1"}, home=tmp_path, service_account=account)
    assert v6.server == "https://[fd00::1]:443"
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(yaml.safe_dump(config()))
    assert load(KubeSource(), env=env, home=tmp_path, service_account=account).server == "https://one:6443"


def test_nothing_to_read_names_everything_that_was_tried(tmp_path: Path) -> None:
    with pytest.raises(KubeUnreachable, match=r"tried /a \(no such file\), /b \(no such file\), the pod's own account"):
        load(KubeSource(), env={"KUBECONFIG": "/a:/b"}, home=tmp_path, service_account=tmp_path)


def test_an_explicit_path_is_the_only_thing_tried(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(yaml.safe_dump(config()))
    with pytest.raises(KubeUnreachable, match="No such file"):
        load(KubeSource(path=tmp_path / "gone"), env={}, home=tmp_path)
    with pytest.raises(KubeUnreachable, match="Is a directory"):
        load(KubeSource(path=tmp_path), env={}, home=tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"current-context": None}, "no current-context"),
        ({"current-context": "three"}, "context 'three' isn't in it; it has: one, two"),
        ({"clusters": []}, "cluster 'c' isn't in it; it has: none"),
        ({"users": None}, "user 'u' isn't in it"),
        ({"clusters": [{"name": "c", "cluster": {"server": "one:6443"}}]}, "no http.s. server"),
        ({"clusters": [{"name": "c", "cluster": {"server": "https://x", "certificate-authority-data": "%"}}]}, "base64"),
        ({"clusters": [{"name": "c", "cluster": {"server": "https://x", "certificate-authority": "/no"}}]}, "/no can't"),
        (
            {
                "clusters": [
                    {"name": "c", "cluster": {"server": "https://x", "certificate-authority-data": "Y2E="} | INSECURE}
                ]
            },
            "insecure-skip-tls-verify, which kubectl refuses",
        ),
        ({"users": [{"name": "u", "user": {"auth-provider": {"name": "gcp"}}}]}, "exec plugin"),
        ({"users": [{"name": "u", "user": {"client-certificate-data": "Y2E="}}]}, "a client certificate without its key"),
        ({"users": [{"name": "u", "user": {"exec": {"command": "aws"}}}]}, "isn't client.authentication.k8s.io/v1 or"),
        (
            {"users": [{"name": "u", "user": {"exec": {"command": "aws", "apiVersion": f"{GROUP}/v1alpha1"}}}]},
            "v1alpha1 was removed",
        ),
        ({"users": [{"name": "u", "user": {"exec": {"command": "scw", "apiVersion": f"{GROUP}/v1"}}}]}, "interactiveMode"),
        ({"users": [{"name": "u", "user": {"token": {"nested": SECRET}}}]}, r"users\.0\.user\.token"),
        ({"contexts": "one"}, "contexts"),
    ],
)
def test_what_is_wrong_is_said_without_contents(change: dict[str, object], said: str) -> None:
    with pytest.raises(KubeUnreachable, match=said) as refused:
        of(config() | change)
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_broken_yaml_names_its_line_and_not_its_text() -> None:
    with pytest.raises(KubeUnreachable, match="isn't YAML at line 3") as refused:
        load(KubeSource(content=f"users:\n - token: [{SECRET}\n"), env={}, home=Path("/"))
    assert SECRET not in "".join(traceback.format_exception(refused.value))


@pytest.mark.timeout(20)
@pytest.mark.parametrize("sign", ["[", '{"a": ', "- [{"])
def test_a_deeply_nested_kubeconfig_is_refused_at_once(sign: str) -> None:
    with pytest.raises(KubeUnreachable, match="isn't YAML at line 2"):
        load(KubeSource(content=f"users:\n{sign * 5000}"), env={}, home=Path("/"))


def test_names_in_a_kubeconfig_move_no_cursor() -> None:
    hostile = "\x1b[2J\u202e\ud800one"
    found = config() | {"contexts": [{"name": hostile, "context": {"cluster": "c"}}]}
    with pytest.raises(KubeUnreachable, match=r"it has: .*one") as error:
        of(found)
    assert str(error.value).isprintable()


@pytest.mark.parametrize("missing", [f"one\n  token: {SECRET}", f"one\u2028{SECRET}", "x" * 150 + SECRET * 2])
def test_a_name_of_several_lines_or_too_long_is_described_and_not_shown(missing: str) -> None:
    """A quote too few makes all lines up to the next one a name, and a token may be among them."""
    cluster: dict[str, object] = {"server": "ftp://one"}
    every: tuple[tuple[dict[str, object], str | None], ...] = (
        (config() | {"current-context": missing}, None),
        (config(), missing),
        (config() | {"contexts": [{"name": missing, "context": {"cluster": "c"}}]}, None),
        (config() | {"contexts": [{"name": "one", "context": {"cluster": missing}}]}, None),
        (config() | {"contexts": [{"name": "one", "context": {"cluster": "c", "user": missing}}]}, None),
        (config() | {"contexts": [{"name": "one", "context": {"cluster": missing}}],
                     "clusters": [{"name": missing, "cluster": cluster}]}, None),
    )  # fmt: skip
    for data, context in every:
        with pytest.raises(KubeUnreachable, match=r"a text of \d+ characters \(not shown\)") as error:
            of(data, context)
        assert SECRET not in str(error.value)
    renamed = config() | {"contexts": [{"name": missing, "context": {"cluster": "c", "user": "u"}}]}
    assert SECRET not in of(renamed, missing).origin


@settings(deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_a_kubeconfig_or_unreachable(text: str) -> None:
    with pytest.raises(KubeUnreachable):
        load(KubeSource(content=text + "\n:"), env={}, home=Path("/nonexistent"))


def test_exec_plugins_are_found_beside_the_file(tmp_path: Path) -> None:
    plugin = {
        "command": "./bin/login",
        "args": ["--x"],
        "env": [{"name": "A", "value": "b"}],
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config(exec=plugin)))
    found = load(KubeSource(path=file), env={}, home=tmp_path).user.exec
    assert found is not None
    assert found.command == str(tmp_path / "bin" / "login")
    assert (found.args, found.env, found.provide_cluster_info) == (("--x",), (("A", "b"),), True)
    assert "'b'" not in repr(found)
    version = "client.authentication.k8s.io/v1beta1"
    file.write_text(yaml.safe_dump(config(exec={"command": "aws", "args": None, "env": None, "apiVersion": version})))
    bare = load(KubeSource(path=file), env={}, home=tmp_path).user.exec
    assert bare is not None
    assert bare.command == "aws"


@pytest.mark.parametrize("tag", ["!!bool", "!!int", "!!timestamp", "!!float", "!!binary", "!!python/object/apply:os.system"])
def test_a_yaml_tag_before_a_token_quotes_no_token(tag: str) -> None:
    text = yaml.safe_dump(config()).replace(f"token: {SECRET}", f"token: {tag} {SECRET}")
    assert tag in text
    with pytest.raises(KubeUnreachable) as error:
        load(KubeSource(content=text), env={}, home=Path("/nonexistent"))
    assert SECRET not in "".join(traceback.format_exception(error.value))


TEXT = yaml.safe_dump(config())
"""Of a kubeconfig, pasted where its path belongs, as CI systems do with a secret."""


@pytest.mark.parametrize(
    "pasted",
    [TEXT, TEXT + "#" * 5000, json.dumps(config()), b64(TEXT), b64(TEXT * 10), "users:\r" + TEXT.replace("\n", "\r")],
    ids=["yaml", "long", "json", "base64", "long-base64", "carriage-returns"],
)
def test_the_text_of_a_kubeconfig_in_the_environment_is_in_no_message(pasted: str, tmp_path: Path) -> None:
    with pytest.raises(KubeUnreachable, match="KUBECONFIG holds a text") as caught:
        load(KubeSource(), env={"KUBECONFIG": pasted}, home=tmp_path, service_account=tmp_path)
    said = "".join(traceback.format_exception(caught.value))
    assert SECRET not in said
    assert b64(TEXT)[:40] not in said


@pytest.mark.parametrize("length", [300, 5000])
def test_a_text_in_the_place_of_a_path_is_not_shown(length: int, tmp_path: Path) -> None:
    pasted = (SECRET * length)[:length]
    with pytest.raises(KubeUnreachable, match="not shown") as caught:
        load(KubeSource(content=pasted), env={}, home=tmp_path, service_account=tmp_path)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("server", ["https://admin:{}@one:6443", "https://{}@one:6443", "http://a:{}@[::1]:6443/p"])
def test_a_password_in_the_server_s_address_is_in_no_message(server: str) -> None:
    data = config()
    data["clusters"] = [{"name": "c", "cluster": {"server": server.format(SECRET)}}]
    with pytest.raises(KubeUnreachable, match="under users") as caught:
        of(data)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_who_one_acts_as_is_read() -> None:
    extra = {"example.org/Team": ["a"]}
    user = of(
        config(token=SECRET, **{"as": "deployer", "as-uid": "7", "as-groups": ["x", "y"], "as-user-extra": extra})
    ).user
    assert user.impersonation == (
        ("Impersonate-User", "deployer"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "x"),
        ("Impersonate-Group", "y"),
        ("Impersonate-Extra-example.org%2FTeam", "a"),
    )
    assert of(config()).user.impersonation == ()


@pytest.mark.parametrize(
    "user",
    [{"as-groups": ["x"]}, {"as-uid": "7"}, {"as": "deployer\nImpersonate-Group: system:masters"}, {"as": "d\u00e9"}],
)
def test_what_no_server_takes_of_another_identity_is_refused(user: dict[str, object]) -> None:
    with pytest.raises(KubeUnreachable, match="user 'u'"):
        of(config(token=SECRET, **user))


@pytest.mark.parametrize("part", ["clusters", "users", "contexts"])
def test_a_key_that_is_not_acted_on_is_refused_where_it_is_used(part: str) -> None:
    data = config()
    entry = data[part][0]  # type: ignore[index]
    entry[part[:-1]]["as-somebody"] = "x"
    with pytest.raises(KubeUnreachable, match="has as-somebody, which this program doesn't act on"):
        of(data)
    if part != "users":
        of(data, "two")


def test_notes_of_other_programs_say_nothing() -> None:
    data = config()
    data["clusters"][0]["cluster"]["extensions"] = [{"name": "minikube"}]  # type: ignore[index]
    data["clusters"][0]["cluster"]["disable-compression"] = True  # type: ignore[index]
    assert of(data).server == "https://one:6443"


def test_line_ends_in_base64_are_skipped() -> None:
    data = config()
    text = b64("ca" * 60)
    folded = "\r\n".join(text[at : at + 64] for at in range(0, len(text), 64)) + "\n"
    data["clusters"][0]["cluster"]["certificate-authority-data"] = folded  # type: ignore[index]
    assert of(data).ca == b"ca" * 60


@pytest.mark.parametrize("name", ["2026-11-01", "10:20", "1234"])
def test_a_name_that_looks_like_a_date_a_time_or_a_number_is_a_name(name: str) -> None:
    """client-go's reader makes texts of numbers where a text is wanted (sigs.k8s.io/yaml), and has no dates."""
    text = f"clusters: [{{name: {name}, cluster: {{server: 'https://a'}}}}]\n"
    text += f"users: [{{name: {name}, user: {{token: {name}}}}}]\n"
    text += f"contexts: [{{name: {name}, context: {{cluster: {name}, user: {name}}}}}]\ncurrent-context: {name}\n"
    found = load(KubeSource(content=text), env={}, home=Path("/nonexistent"))
    assert (found.server, found.user.token) == ("https://a", name)
