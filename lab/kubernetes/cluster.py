"""The lab's Kubernetes as a whole: start what does not run, in order, and take all of it down again."""

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from lab import images, paths, supervise
from lab.errors import LabError
from lab.given_kubernetes import CONTAINERD
from lab.images import Image
from lab.kubernetes import layout, machine, network, pki, render
from lab.kubernetes.layout import Home, Node

Say = Callable[[str], None]
PREFIX = "kube-"
"""Starts the names of the control plane's processes."""
CONTROL_PLANE = ("kube-etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-dns")
READY_SECONDS = 90.0
SOCKET_PATH = 104
"""containerd's limit, in characters; Linux's is 107."""
SHARED_FOLDERS = (Path("/var/lib/kubelet"), Path("/var/lib/cni"))
"""Mount points that node-init.sh makes on the machine, for the nodes of all labs; empty there."""


@dataclass(frozen=True)
class Kubernetes:
    """One control plane and its nodes."""

    home: Home
    nodes: tuple[Node, ...] = layout.NODES

    def up(self, binaries: Mapping[str, Path], wanted: Sequence[Image], seed: Path, *, say: Say = print) -> None:
        """Bring up what is not up. `binaries` by name (kube-apiserver, …); `wanted` images are in every node after it.

        `seed` is a store that has them (images.seed).

        Safe to repeat. Raises LabError with the log's end when a part does not come, or when a node is not ready
        after READY_SECONDS.
        """
        begun = monotonic()
        longest = max(len(f"{self.home.socket(node)}.ttrpc") for node in self.nodes)
        if longest > SOCKET_PATH:
            raise LabError(
                f"{self.home.root} is {longest - SOCKET_PATH} characters too long for containerd's sockets in it; "
                "set SLINKY_LAB_STATE to a shorter path"
            )
        self.home.root.mkdir(parents=True, exist_ok=True)
        pki.ensure(self.home)
        paths.HOSTS.touch()
        network.up(self.nodes)
        self._control_plane(binaries)
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            for future in [pool.submit(self._node, node, binaries, wanted, seed) for node in self.nodes]:
                future.result()
        pki.write_secret(paths.KUBECONFIG, pki.kubeconfig(self.home, "admin").read_text())
        supervise.await_true(
            "all nodes are Ready", lambda: self._ready() == [node.name for node in self.nodes], READY_SECONDS,
            log=f"{self.nodes[-1].name}-kubelet",
        )  # fmt: skip
        supervise.await_true(
            "the controllers have made what each namespace has", self._settled, READY_SECONDS, log="kube-controller-manager"
        )
        names = ", ".join(node.name for node in self.nodes)
        say(f"kubernetes: {names} are Ready ({monotonic() - begun:.0f} s); KUBECONFIG={paths.KUBECONFIG}")

    def down(self, *, network_there: bool = True) -> None:
        """End every process, node, cgroup and interface, then remove the state. Finds what a killed `up` left, too.

        Without ``network_there`` no interface is looked for: their namespace is gone, and what is here is another lab's.
        """
        for node in self.nodes:
            for part in ("kube-proxy", "kubelet", "containerd"):
                supervise.stop(f"{node.name}-{part}", timeout=0.5)
            machine.down(node)
        for name in reversed(CONTROL_PLANE):
            supervise.stop(name, timeout=3.0)
        supervise.stop(images.SEED_PROCESS)
        machine.clear_cgroups(paths.CGROUP)
        if network_there:
            network.down()
        machine.unmount_below(self.home.root)
        shutil.rmtree(self.home.root, ignore_errors=True)
        paths.KUBECONFIG.unlink(missing_ok=True)

    def status(self) -> dict[str, bool]:
        """Every process of the control plane and every node (Ready or not)."""
        found = {name: supervise.alive(name) for name in CONTROL_PLANE}
        ready = self._ready() if paths.KUBECONFIG.exists() and found["kube-apiserver"] else []
        return found | {node.name: node.name in ready and _kubelet_answers(node) for node in self.nodes}

    # -- inside --------------------------------------------------------------------------------------------------

    def load(self, image: Image) -> None:
        """Put an image into the store of every node of a lab that is up. Repeatable."""
        for node in self.nodes:
            images.import_into(self.home.socket(node), image)

    def _control_plane(self, binaries: Mapping[str, Path]) -> None:
        home = self.home
        supervise.start("kube-etcd", render.etcd_argv(home), env=render.ONE_THREAD)
        (home.root / render.AUDIT_POLICY).write_text(render.audit_policy())
        supervise.start("kube-apiserver", render.apiserver_argv(binaries["kube-apiserver"], home))
        supervise.await_true("the API server is ready", self._api_is_ready, 60, log="kube-apiserver")
        supervise.start(
            "kube-controller-manager",
            [
                str(binaries["kube-controller-manager"]),
                f"--kubeconfig={pki.kubeconfig(home, 'controller-manager')}",
                f"--service-account-private-key-file={home.pki / 'service-accounts.key'}",
                f"--root-ca-file={home.pki / 'ca.crt'}",
                "--use-service-account-credentials=true",
                "--leader-elect=false",
                f"--bind-address={layout.GATEWAY}",
                f"--secure-port={layout.CONTROLLER_MANAGER_PORT}",
            ],
            env=render.ONE_THREAD,
        )
        supervise.start(
            "kube-scheduler",
            [
                str(binaries["kube-scheduler"]),
                f"--kubeconfig={pki.kubeconfig(home, 'scheduler')}",
                "--leader-elect=false",
                f"--bind-address={layout.GATEWAY}",
                f"--secure-port={layout.SCHEDULER_PORT}",
            ],
            env=render.ONE_THREAD,
        )
        corefile = home.root / "Corefile"
        corefile.write_text(render.corefile(paths.HOSTS, pki.kubeconfig(home, "admin")))
        supervise.start("kube-dns", [str(binaries["coredns"]), "-conf", str(corefile)])
        supervise.await_true("cluster DNS is ready", _dns_answers, 30, log="kube-dns")

    def _node(self, node: Node, binaries: Mapping[str, Path], wanted: Sequence[Image], seed: Path) -> None:
        home, folder = self.home, self.home.node(node)
        machine.up(home, node, self.nodes)
        store = home.store(node)
        if not store.exists():
            images.plant(seed, store)
            self._note_images(node, wanted)
        (folder / "cni").mkdir(exist_ok=True)
        (folder / "cni" / "10-lab.conflist").write_text(render.cni_conflist(node))
        (folder / "containerd.toml").write_text(render.containerd_toml(home, node))
        (folder / "kubelet.json").write_text(render.kubelet_config(home, node))
        (folder / "kube-proxy.json").write_text(render.kube_proxy_config(pki.kubeconfig(home, "kube-proxy"), node))
        containerd, socket = f"{node.name}-containerd", home.socket(node)
        inside = self._inside
        program = str(binaries.get(CONTAINERD, CONTAINERD))
        supervise.start(
            containerd,
            inside(node, [program, "--config", str(folder / "containerd.toml")]),
            env=render.ONE_THREAD,
        )
        supervise.await_true(f"{containerd} answers", lambda: images.answers(socket), 30, log=containerd)
        for image in self._missing_images(node, wanted):
            images.import_into(socket, image)
        self._note_images(node, wanted)
        supervise.start(
            f"{node.name}-kubelet",
            inside(
                node,
                [
                    str(binaries["kubelet"]),
                    f"--config={folder / 'kubelet.json'}",
                    f"--kubeconfig={pki.kubeconfig(home, node.name)}",
                    f"--hostname-override={node.name}",
                    f"--node-ip={node.address}",
                ],
            ),
            env=render.ONE_THREAD,
        )
        proxy = inside(node, [str(binaries["kube-proxy"]), f"--config={folder / 'kube-proxy.json'}"])
        supervise.start(f"{node.name}-kube-proxy", proxy, env=render.ONE_THREAD)
        supervise.await_true(
            f"the kubelet of {node.name} is well", lambda: _kubelet_answers(node), 30, log=f"{node.name}-kubelet"
        )

    def _inside(self, node: Node, argv: Sequence[str]) -> list[str]:
        return machine.entered(self.home, node, argv)

    def _noted(self, node: Node) -> Path:
        return self.home.node(node) / "images.json"

    def _note_images(self, node: Node, wanted: Sequence[Image]) -> None:
        self._noted(node).write_text(json.dumps({image.name: image.archive.name for image in wanted}))

    def _missing_images(self, node: Node, wanted: Sequence[Image]) -> list[Image]:
        noted = json.loads(self._noted(node).read_text()) if self._noted(node).exists() else {}
        return [image for image in wanted if noted.get(image.name) != image.archive.name]

    def _api_is_ready(self) -> bool:
        return _kubectl(pki.kubeconfig(self.home, "admin"), "get", "--raw", "/readyz") == "ok"

    def _ready(self) -> list[str]:
        """Names of the nodes whose Ready condition holds, sorted."""
        said = _kubectl(pki.kubeconfig(self.home, "admin"), "get", "nodes", "-o", "json")
        if said is None:
            return []
        ready = []
        for item in json.loads(said)["items"]:
            conditions = item["status"].get("conditions", [])
            if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
                ready.append(str(item["metadata"]["name"]))
        return sorted(ready)

    def _settled(self) -> bool:
        """Whether every namespace has its root certificates, which the controllers make last, seconds after the nodes are
        Ready: what is there before a test is compared with what is there after it."""
        admin = pki.kubeconfig(self.home, "admin")
        listed = [
            _kubectl(admin, "get", *what, "-o", "name")
            for what in (
                ("namespaces", "--field-selector=status.phase=Active"),
                ("configmaps", "--all-namespaces", "--field-selector=metadata.name=kube-root-ca.crt"),
            )
        ]
        return listed[0] is not None and listed[1] is not None and len(listed[0].split()) == len(listed[1].split())


def _dns_answers() -> bool:
    """Has CoreDNS read the API? Its plugin `ready` says so."""
    return _answers(f"http://{layout.GATEWAY}:{layout.DNS_HEALTH_PORT}/ready")


def _kubelet_answers(node: Node) -> bool:
    """Does the kubelet itself say that it is well? A node's Ready condition outlives a dead kubelet by 40 s."""
    return _answers(f"http://{node.address}:{layout.KUBELET_HEALTH_PORT}/healthz")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return int(answer.status) == 200
    except OSError:
        return False


def _kubectl(kubeconfig: Path, *arguments: str) -> str | None:
    """What kubectl printed, None if it failed: the API server is not there yet, or no longer."""
    argv = ["kubectl", f"--kubeconfig={kubeconfig}", "--request-timeout=5s", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def remove_mount_points() -> None:
    """Remove the nodes' mount points. Only when no lab is up: the kernel would end another lab's mounts on them, too."""
    for folder in SHARED_FOLDERS:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def get(path: str) -> str:
    """GET a path of the API server as administrator. Raises LabError if it does not answer with success."""
    said = _kubectl(paths.KUBECONFIG, "get", "--raw", path)
    if said is None:
        raise LabError(f"the lab's API server did not answer {path}; `lab/lab status` says what runs")
    return said


LAB = Kubernetes(Home(paths.STATE / "kubernetes"))
