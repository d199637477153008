"""KEDA on a lab that is up: its CRDs, its operator and its metrics server, which end with the test that asked for them.

Both run beside the API server, as its administrator, with the lab's DNS, and are restarted when they end, as a kubelet
does. The API server reaches the metrics server through its aggregation layer, as an APIService says. No webhook of KEDA's
runs.
"""

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import go, obtain, paths, supervise, tools
from lab.errors import LabError
from lab.kubernetes import layout, pki
from lab.kubernetes.cluster import LAB as KUBERNETES
from lab.obtain import Say
from lab.slurm import site

MODULE = "github.com/kedacore/keda/v2"
CHECKSUM = "h1:Msot3UuN6WOhaOaOcVmokmVM0cu3uqSGvnDgg1LkESU="
CRDS = "config/crd/bases"
OPERATOR, METRICS = "keda-operator", "keda-metrics"
NAMESPACE, SERVICE = "keda", "keda-metrics-apiserver"
GRPC_PORT, HTTPS_PORT, HEALTH_PORT = 19666, 16445, 18082
API = "v1beta1.external.metrics.k8s.io"
_AS_HOST = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
"""In a mount namespace of its own: names of pods' Services and of the outside hosts resolve."""


def programs(*, say: Say = print) -> dict[str, Path]:
    """``operator`` and ``adapter``; built if they are not in CACHE."""
    return obtain.ensure((tools.SCALER,), say=say)


@contextmanager
def running(*, say: Say = print) -> Iterator[None]:
    """It runs inside of this; its CRDs, and with them every ScaledObject, are gone after it."""
    built, crds = programs(say=say), _crds()
    _kubectl("apply", "--server-side", *crds)
    try:
        supervise.await_true("KEDA's kinds are served", _served, 60)
        _kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": _objects()}))
        start(built)
        _kubectl("wait", "--for=condition=Available", "--timeout=90s", f"apiservice/{API}")
        yield
    finally:
        # The operator takes its finalizers off; without it, ScaledObjects would stay.
        start(built)
        _kubectl("delete", "--ignore-not-found", "--timeout=60s", *crds)
        _kubectl("delete", "--ignore-not-found", f"apiservice/{API}", f"namespace/{NAMESPACE}")
        stop()


def start(built: dict[str, Path]) -> None:
    """Start what of it does not run."""
    home, folder = KUBERNETES.home, _certificates()
    admin = str(pki.kubeconfig(home, "admin"))
    env = {
        "KUBECONFIG": admin,
        "WATCH_NAMESPACE": "",
        "POD_NAMESPACE": NAMESPACE,
        "KEDA_CLUSTER_OBJECT_NAMESPACE": NAMESPACE,
    }
    supervise.start(
        OPERATOR,
        _resolving([
            str(built["operator"]), f"--cert-dir={folder}", "--metrics-bind-address=0",
            f"--health-probe-bind-address={layout.GATEWAY}:{HEALTH_PORT}", "--enable-prometheus-metrics=false",
            f"--metrics-service-bind-address={layout.GATEWAY}:{GRPC_PORT}",
        ]),
        env=env,
        restarts=True,
    )  # fmt: skip
    supervise.start(
        METRICS,
        _resolving([
            str(built["adapter"]), f"--kubeconfig={admin}", f"--authentication-kubeconfig={admin}",
            f"--authorization-kubeconfig={admin}", f"--lister-kubeconfig={admin}", "--port=18083",
            f"--bind-address={layout.GATEWAY}", f"--secure-port={HTTPS_PORT}", f"--cert-dir={folder}",
            f"--tls-cert-file={folder / 'tls.crt'}", f"--tls-private-key-file={folder / 'tls.key'}",
            f"--metrics-service-address={layout.GATEWAY}:{GRPC_PORT}", "--v=1",
        ]),
        env=env,
        restarts=True,
    )  # fmt: skip

    supervise.await_true("KEDA's operator is ready", _answers, 60, log=OPERATOR)


def _served() -> bool:
    """`kubectl wait` fails on a CRD that has no condition yet."""
    argv = ["kubectl", f"--kubeconfig={paths.KUBECONFIG}", "get", "scaledobjects.keda.sh", "--all-namespaces"]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def _answers() -> bool:
    """Whether the operator says that it is well: the metrics server asks it for every metric."""
    try:
        with urllib.request.urlopen(f"http://{layout.GATEWAY}:{HEALTH_PORT}/readyz", timeout=2) as answer:
            return int(answer.status) == 200
    except OSError:
        return False


def stop(*names: str) -> None:
    """End both, or these."""
    for name in names or (METRICS, OPERATOR):
        if ended := supervise.ends(name):
            print(f"lab: {name} ended {len(ended)} times, with {ended}, and was restarted: {supervise.log_path(name)}")
        supervise.stop(name)


def _resolving(argv: list[str]) -> list[str]:
    return ["unshare", "--mount", "sh", "-c", _AS_HOST, str(site.LAB.folder / "resolv.conf"), *argv]


def _certificates() -> Path:
    """A folder with ca.crt, tls.crt and tls.key: the one certificate of both, as server and as client."""
    home = KUBERNETES.home
    folder = home.pki / NAMESPACE
    folder.mkdir(exist_ok=True)
    if not (folder / "tls.crt").exists():
        names = (f"DNS:{SERVICE}.{NAMESPACE}.svc", f"IP:{layout.GATEWAY}")
        pki.certificate(home.pki, pki.Identity(NAMESPACE, NAMESPACE, names=names, is_client=True))
        for ending in ("crt", "key"):
            (folder / f"tls.{ending}").write_bytes((home.pki / f"{NAMESPACE}.{ending}").read_bytes())
        (folder / "ca.crt").write_bytes((home.pki / "ca.crt").read_bytes())
    return folder


def _objects() -> list[dict[str, object]]:
    space = {"name": SERVICE, "namespace": NAMESPACE}
    port = {"name": "https", "port": 443, "targetPort": HTTPS_PORT, "protocol": "TCP"}
    authority = pki.encoded((KUBERNETES.home.pki / "ca.crt").read_bytes())
    api = {"group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100}
    reader = {"apiGroups": ["external.metrics.k8s.io"], "resources": ["*"], "verbs": ["*"]}
    scaler = {"kind": "ServiceAccount", "name": "horizontal-pod-autoscaler", "namespace": "kube-system"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "keda-external-metrics-reader"}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "Service", "metadata": space, "spec": {"ports": [port]}},
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": space | {"labels": {"kubernetes.io/service-name": SERVICE}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [str(layout.GATEWAY)], "conditions": {"ready": True}}],
            "ports": [{"name": "https", "port": HTTPS_PORT, "protocol": "TCP"}],
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": API},
            "spec": api | {"service": {"name": SERVICE, "namespace": NAMESPACE}, "caBundle": authority},
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": role["name"]},
            "rules": [reader],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": role["name"]},
            "roleRef": role,
            "subjects": [scaler],
        },
    ]


def _crds() -> list[str]:
    folder = go.module(MODULE, tools.KEDA, CHECKSUM, go=go.ensure()) / CRDS
    return [f"--filename={file}" for file in sorted(folder.glob("*keda.sh_*.yaml"))]


def _kubectl(*arguments: str, stdin: str = "") -> None:
    argv = ["kubectl", f"--kubeconfig={paths.KUBECONFIG}", *arguments]
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"`kubectl {arguments[0]}` for KEDA failed: {done.stderr.strip()[-500:]}")
