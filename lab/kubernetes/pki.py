"""The lab's certificate authority, by the `openssl` program. Made once a state folder, readable by root only."""

import base64
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.kubernetes import layout, render
from lab.kubernetes.layout import Home

DAYS = "3650"


@dataclass(frozen=True)
class Identity:
    """One client or server. `group` is the certificate's O, which Kubernetes takes as the user's group."""

    file: str
    user: str
    group: str | None = None
    names: tuple[str, ...] = ()
    """subjectAltName entries, for servers."""
    is_client: bool = False
    """A server that is a client too."""


def identities() -> list[Identity]:
    """Everybody who speaks TLS in the lab. DNS reads endpoints with the administrator's identity: it is only a lab."""
    server = (
        "DNS:kubernetes", "DNS:kubernetes.default", "DNS:kubernetes.default.svc", "DNS:localhost",
        f"IP:{layout.API_SERVICE}", f"IP:{layout.GATEWAY}", "IP:127.0.0.1",
    )  # fmt: skip
    return [
        Identity("apiserver", "kube-apiserver", names=server),
        Identity("admin", "lab-admin", group="system:masters"),
        Identity("controller-manager", "system:kube-controller-manager"),
        Identity("scheduler", "system:kube-scheduler"),
        Identity("kube-proxy", "system:kube-proxy"),
        Identity(layout.FRONT_PROXY, layout.FRONT_PROXY),
        *(Identity(node.name, f"system:node:{node.name}", group="system:nodes") for node in layout.NODES),
    ]


def ensure(home: Home) -> None:
    """Make what is missing: authority, one key and certificate an identity, one kubeconfig a client."""
    home.pki.mkdir(parents=True, exist_ok=True, mode=0o700)
    pki = home.pki
    if not (pki / "ca.crt").exists():
        _self_signed(pki)
    if not (pki / "service-accounts.key").exists():
        _key(pki / "service-accounts.key")
    for identity in identities():
        if not (pki / f"{identity.file}.crt").exists():
            certificate(pki, identity)
    for identity in identities():
        if identity.names:
            continue
        crt, key = pki / f"{identity.file}.crt", pki / f"{identity.file}.key"
        text = render.kubeconfig(layout.API_URL, (pki / "ca.crt").read_bytes(), crt.read_bytes(), key.read_bytes())
        write_secret(kubeconfig(home, identity.file), text)


def kubeconfig(home: Home, identity: str) -> Path:
    """The kubeconfig of one identity."""
    return home.pki / f"{identity}.kubeconfig"


def write_secret(path: Path, text: str) -> None:
    """Write a file that only its owner can read, all of it or nothing."""
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    new.replace(path)


def _self_signed(pki: Path) -> None:
    _key(pki / "ca.key")
    _openssl(
        "req", "-x509", "-new", "-key", str(pki / "ca.key"), "-subj", "/CN=slinky-lab", "-days", DAYS,
        "-addext", "keyUsage=critical,keyCertSign,digitalSignature", "-out", str(pki / ".ca.crt.new"),
    )  # fmt: skip
    (pki / ".ca.crt.new").replace(pki / "ca.crt")


def encoded(pem: bytes) -> str:
    """As Kubernetes' objects have it."""
    return base64.b64encode(pem).decode()


def certificate(pki: Path, identity: Identity) -> None:
    """A key and a certificate of one identity, by the lab's authority."""
    key, new = pki / f"{identity.file}.key", pki / f".{identity.file}.crt.new"
    _key(key)
    organisation = f"/O={identity.group}" if identity.group else ""
    usage = "serverAuth" if identity.names else "clientAuth"
    usage += ",clientAuth" if identity.is_client else ""
    alternatives = ["-addext", f"subjectAltName={','.join(identity.names)}"] if identity.names else []
    _openssl(
        "req", "-x509", "-new", "-CA", str(pki / "ca.crt"), "-CAkey", str(pki / "ca.key"), "-key", str(key),
        "-subj", f"{organisation}/CN={identity.user}", "-days", DAYS,
        "-addext", "basicConstraints=critical,CA:FALSE", "-addext", f"extendedKeyUsage={usage}", *alternatives,
        "-out", str(new),
    )  # fmt: skip
    new.replace(pki / f"{identity.file}.crt")


def _key(path: Path) -> None:
    # Kubernetes reads a public key out of an "EC PRIVATE KEY" (SEC 1), not out of PKCS #8.
    _openssl("ecparam", "-genkey", "-noout", "-name", "prime256v1", "-out", str(path))
    path.chmod(0o600)


def _openssl(*arguments: str) -> None:
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"`openssl {arguments[0]}` failed: {done.stderr.strip()}; the lab needs OpenSSL 3")
