"""Kubeconfig files as kubectl reads them: where from, merged how, and what they say about one context.

Source: https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/ and client-go's
``tools/clientcmd/api/v1`` types. No network and no command here; :mod:`slinky_iac.kube.connection` acts on the result.

Why no library: lightkube reads one file of $KUBECONFIG, and neither proxy-url nor tls-server-name; kr8s leaves the client's
key in a temporary file; the kubernetes package takes 350 ms to import, in every provider process.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slinky_iac import safe_yaml
from slinky_iac.errors import KubeUnreachable
from slinky_iac.kube.exec_plugin import Exec, ExecPlugin

_LONGEST_PATH = 255
"""Characters of the longest path that is shown: a kubeconfig in base64, or a ServiceAccount's token, has more."""
_LONGEST_NAME = 200
"""Characters of the longest name of a context, cluster or user that is shown; a token has more."""
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet puts a pod's own token, CA and namespace."""


@dataclass(frozen=True)
class KubeSource:
    """Where the user says the kubeconfig is. All None: $KUBECONFIG, then ~/.kube/config, then the pod's own account.

    ``content`` is the file's text; a single line without ``:`` or ``{`` is taken as a path, as Pulumi's provider does.
    """

    content: str | None = field(default=None, repr=False)
    path: Path | None = None
    context: str | None = None
    path_by: str = "the stack's kubernetes.kubeconfig"
    """What sets the path: a setting, or an option of the command that runs."""
    context_by: str = "the stack's kubernetes.context"
    """What sets the context."""


@dataclass(frozen=True)
class KubeUser:
    """How to say who we are. Bytes and texts here are secrets and stay out of ``repr``."""

    token: str | None = field(default=None, repr=False)
    token_file: Path | None = None
    client_cert: bytes | None = field(default=None, repr=False)
    client_key: bytes | None = field(default=None, repr=False)
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    exec: ExecPlugin | None = None
    impersonation: tuple[tuple[str, str], ...] = ()
    """Headers of another identity to act as, by name (Kubernetes, "User impersonation"): ``as`` and its kin of the file."""


@dataclass(frozen=True)
class KubeAccess:
    """One API server and one user of it."""

    server: str
    ca: bytes | None
    insecure: bool
    tls_server_name: str | None
    proxy_url: str | None = field(repr=False)
    namespace: str
    user: KubeUser
    origin: str
    """Where this was read, for messages: a path and context, never content."""
    context: str = ""
    """The context's name; empty where there is none, as in a pod."""


class _Raw(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True, defer_build=True, coerce_numbers_to_str=True)
    """A number where a text is wanted is that text, as in client-go's reader (sigs.k8s.io/yaml)."""


class _Strict(_Raw):
    """A part each of whose keys changes who one is or whom one talks to (client-go's v1.AuthInfo, Cluster and Context): one
    that isn't acted on would let this program be somebody else than kubectl with the same file, so it is an error where the
    context uses the part."""

    model_config = ConfigDict(extra="allow")

    extensions: object = None
    """Notes of other programs, which say nothing to clients."""


class _Cluster(_Strict):
    server: str = ""
    ca_data: str | None = Field(None, alias="certificate-authority-data")
    ca_file: str | None = Field(None, alias="certificate-authority")
    insecure: bool = Field(default=False, alias="insecure-skip-tls-verify")
    tls_server_name: str | None = Field(None, alias="tls-server-name")
    proxy_url: str | None = Field(None, alias="proxy-url")
    no_compression: object = Field(None, alias="disable-compression")
    """Answers aren't asked for in compressed form in any case."""


class _User(_Strict):
    token: str | None = None
    token_file: str | None = Field(None, alias="tokenFile")
    cert_data: str | None = Field(None, alias="client-certificate-data")
    cert_file: str | None = Field(None, alias="client-certificate")
    key_data: str | None = Field(None, alias="client-key-data")
    key_file: str | None = Field(None, alias="client-key")
    username: str | None = None
    password: str | None = None
    exec: Exec | None = None
    auth_provider: object = Field(None, alias="auth-provider")
    acts_as: str | None = Field(None, alias="as")
    acts_as_uid: str | None = Field(None, alias="as-uid")
    acts_as_groups: list[str] | None = Field(None, alias="as-groups")
    acts_as_extra: dict[str, list[str]] | None = Field(None, alias="as-user-extra")


class _Context(_Strict):
    cluster: str
    user: str = ""
    namespace: str | None = None


class _NamedCluster(_Raw):
    name: str
    cluster: _Cluster


class _NamedUser(_Raw):
    name: str
    user: _User | None = None


class _NamedContext(_Raw):
    name: str
    context: _Context


class _File(_Raw):
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None
    current_context: str | None = Field(None, alias="current-context")


@dataclass(frozen=True)
class _Doc:
    """One file read: what it says, the folder its relative paths start from, and its name for messages."""

    raw: _File
    folder: Path
    name: str


Named = TypeVar("Named", _NamedCluster, _NamedUser, _NamedContext)


def load(source: KubeSource, *, env: Mapping[str, str], home: Path, service_account: Path = SERVICE_ACCOUNT) -> KubeAccess:
    """The API server and user that ``source`` names.

    An explicit content or path is the only thing tried; else the order of kubectl, then the pod's own service account.
    Raises :class:`KubeUnreachable` naming everything that was tried.
    """
    path = source.path
    if source.content is not None:
        text = source.content.strip()
        if "\n" in text or ":" in text or "{" in text:
            return _pick([_parse(source.content, Path(), "the kubeconfig given as text")], source)
        path = Path(text)
    if path is not None:
        return _pick([_read(path.expanduser())], source)
    given = env.get("KUBECONFIG", "")
    if _is_text(given) and not _exists(Path(given)):
        advice = "Write the text to a file that only its owner can read, and set $KUBECONFIG to its path"
        raise KubeUnreachable(f"$KUBECONFIG holds a text of {len(given)} characters (not shown), no paths", advice=advice)
    listed = [Path(p).expanduser() for p in given.split(":") if p]
    candidates = listed or [home / ".kube" / "config"]
    docs = [_read(p) for p in candidates if _exists(p)]
    if docs:
        return _pick(docs, source)
    tried = [f"{_shown(p)} (no such file)" for p in candidates]
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT", "443")
    if host and (service_account / "token").exists():
        return _in_cluster(host, port, service_account)
    tried.append(f"the pod's own account at {service_account} (not in a pod)")
    advice = f"Set $KUBECONFIG, or {source.path_by}"
    raise KubeUnreachable(f"no kubeconfig: tried {', '.join(tried)}", advice=advice)


_NEW: Final = "Make a new one, as your cluster's tool does it"


def _in_cluster(host: str, port: str, account: Path) -> KubeAccess:
    namespace = account / "namespace"
    return KubeAccess(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        ca=_bytes_of(account / "ca.crt", "the pod's CA"),
        insecure=False,
        tls_server_name=None,
        proxy_url=None,
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        user=KubeUser(token_file=account / "token"),
        origin=f"the pod's own account at {account}",
    )


def _is_text(value: str) -> bool:
    """Whether a value that should be paths is the text of a kubeconfig: such a text is never shown."""
    return any(sign in value for sign in "\n\r{") or any(len(part) > _LONGEST_PATH for part in value.split(":"))


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a path that is too long, for one; its error quotes it
        return False


def _shown(path: Path) -> str:
    text = str(path)
    return f"a text of {len(text)} characters (not shown) and no path" if _is_text(text) else text


def _read(path: Path) -> _Doc:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it isn't UTF-8 text"
        raise KubeUnreachable(f"kubeconfig {_shown(path)} can't be read: {why}", advice="Give a readable file") from None
    return _parse(text, path.parent, f"kubeconfig {path}")


def _parse(text: str, folder: Path, name: str) -> _Doc:
    """YAML's and pydantic's own messages quote the text, which holds keys: only places and kinds are passed on."""
    try:
        data = safe_yaml.read(text)
    except safe_yaml.NotYamlError as error:
        raise KubeUnreachable(f"{name} {error}: not read", advice="Repair it or make a new one") from None
    if not isinstance(data, dict):
        raise KubeUnreachable(f"{name} is {'empty' if not data else 'not a mapping'}: not a kubeconfig", advice=_NEW)
    try:
        return _Doc(_File.model_validate(data), folder, name)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}"
            for e in error.errors(include_input=False, include_url=False, include_context=False)[:5]
        )
        raise KubeUnreachable(f"{name} isn't a kubeconfig: {faults}", advice=_NEW) from None


def _find(kind: str, name: str, entries: list[tuple[Named, _Doc]], where: str, advice: str = _NEW) -> tuple[Named, _Doc]:
    for entry, doc in entries:
        if entry.name == name:
            return entry, doc
    known = ", ".join(sorted(_named(entry.name) for entry, _ in entries)) or "none"
    raise KubeUnreachable(f"{where}: {kind} {_named(name, repr)} isn't in it; it has: {known}", advice=advice)


def _named(name: str, how: Callable[[str], str] = str) -> str:
    """A name for a message. Where a quote is missing, the lines up to the next one are the name, tokens among them."""
    if len(name.splitlines()) > 1 or len(name) > _LONGEST_NAME:
        return f"a text of {len(name)} characters (not shown)"
    return how(name)


def _pick(docs: list[_Doc], source: KubeSource) -> KubeAccess:
    """The first file that defines a name wins, as with kubectl."""
    where = " and ".join(doc.name for doc in docs)
    name = source.context or next((d.raw.current_context for d in docs if d.raw.current_context), None)
    if name is None:
        raise KubeUnreachable(f"{where}: no current-context, and none was asked for", advice=f"Set {source.context_by}")
    one_of = f"Set {source.context_by} to one that it has"
    entry, _ = _find("context", name, [(c, d) for d in docs for c in d.raw.contexts or ()], where, one_of)
    context = entry.context
    _require_read(context, f"{where}: context {_named(name, repr)}")
    clusters = [(c, d) for d in docs for c in d.raw.clusters or ()]
    named_cluster, cluster_doc = _find("cluster", context.cluster, clusters, where)
    cluster = named_cluster.cluster
    _require_read(cluster, f"{where}: cluster {_named(context.cluster, repr)}")
    if not cluster.server.startswith(("http://", "https://")):
        raise KubeUnreachable(f"{where}: cluster {_named(context.cluster, repr)} has no http(s) server")
    if "@" in cluster.server:  # every message that names the API server would show it
        raise KubeUnreachable(
            f"{where}: the server of cluster {_named(context.cluster, repr)} has a user or a password in its address (not"
            " shown). Put them under users"
        )
    ca = _material(cluster.ca_data, cluster.ca_file, cluster_doc, "certificate-authority")
    if ca is not None and cluster.insecure:
        raise KubeUnreachable(
            f"{where}: cluster {_named(context.cluster, repr)} has a certificate-authority and"
            " insecure-skip-tls-verify, which kubectl refuses together. Remove the latter"
        )
    user = KubeUser()
    if context.user:
        users = [(u, d) for d in docs for u in d.raw.users or ()]
        named, user_doc = _find("user", context.user, users, where)
        user = _user(named.user or _User.model_validate({}), user_doc, context.user)
    return KubeAccess(
        server=cluster.server.rstrip("/"),
        ca=ca,
        insecure=cluster.insecure,
        tls_server_name=cluster.tls_server_name or None,
        proxy_url=cluster.proxy_url or None,
        namespace=context.namespace or "default",
        user=user,
        origin=f"{where}, context {_named(name, repr)}",
        context=name,
    )


def _require_read(part: _Strict, where: str) -> None:
    if unknown := sorted(part.model_extra or ()):
        raise KubeUnreachable(
            f"{where} has {', '.join(map(_named, unknown))}, which this program doesn't act on: it could be another user, or"
            " talk to another server, than kubectl with this file. Remove it, or make another user"
        )


def _user(raw: _User, doc: _Doc, name: str) -> KubeUser:
    where = f"{doc.name}: user {_named(name, repr)}"
    _require_read(raw, where)
    if raw.auth_provider is not None:
        raise KubeUnreachable(f"{where} uses auth-provider, which Kubernetes removed in 1.26: use an exec plugin")
    cert = _material(raw.cert_data, raw.cert_file, doc, "client-certificate")
    key = _material(raw.key_data, raw.key_file, doc, "client-key")
    if cert is not None and key is None:  # client-go, tools/clientcmd/validation.go: validateAuthInfo
        raise KubeUnreachable(
            f"{where} has a client certificate without its key, which kubectl refuses. Add client-key-data or client-key, or"
            " make a new kubeconfig"
        )
    return KubeUser(
        token=raw.token or None,
        token_file=doc.folder / raw.token_file if raw.token_file else None,
        client_cert=cert,
        client_key=key,
        username=raw.username or None,
        password=raw.password or None,
        exec=raw.exec.plugin(doc.folder, where) if raw.exec is not None else None,
        impersonation=tuple(_impersonation(raw, where)),
    )


def _impersonation(raw: _User, where: str) -> Iterator[tuple[str, str]]:
    """Headers as client-go's ``transport.ImpersonatingRoundTripper`` sends them."""
    if raw.acts_as is None and (raw.acts_as_uid or raw.acts_as_groups or raw.acts_as_extra):
        raise KubeUnreachable(f"{where} has as-uid, as-groups or as-user-extra without as: the API server refuses that")
    headers = [("Impersonate-User", raw.acts_as), ("Impersonate-Uid", raw.acts_as_uid)]
    headers += [("Impersonate-Group", group) for group in raw.acts_as_groups or ()]
    for key, values in (raw.acts_as_extra or {}).items():
        headers += [(f"Impersonate-Extra-{quote(key, safe='')}", value) for value in values]
    for header, value in headers:
        if value is not None and not (value.isascii() and value.isprintable()):
            raise KubeUnreachable(f"{where}: {header} holds characters that a request's header can't have")
        if value:
            yield header, value


def _material(data: str | None, file: str | None, doc: _Doc, what: str) -> bytes | None:
    """Bytes of a certificate or key: ``…-data`` (base64) wins over the file, as in client-go."""
    if data:
        try:
            return base64.b64decode(re.sub(r"[\r\n]", "", data), validate=True)  # as Go's decoder, which skips line ends
        except (binascii.Error, ValueError):
            raise KubeUnreachable(f"{doc.name}: {what}-data isn't base64. Make a new kubeconfig") from None
    return _bytes_of(doc.folder / file, f"{doc.name}: {what}") if file else None


def _bytes_of(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise KubeUnreachable(f"{what} {path} can't be read: {error.strerror}") from None
