"""The text of every configuration file of the lab's Kubernetes, from plain values. No side effects."""

import base64
import json
from ipaddress import IPv4Address
from pathlib import Path

from lab.kubernetes import layout
from lab.kubernetes.layout import Home, Node

PAUSE_IMAGE = "docker.io/slinky-lab/busybox:1"
"""Any image whose command sleeps can hold a pod's namespaces."""
ONE_THREAD = {"GOMAXPROCS": "1"}
"""For daemons that mostly wait: an idle one spends a third of its processor time on waking threads for other processors.
Not for the API server, which works in bursts."""


def containerd_toml(home: Home, node: Node) -> str:
    """containerd 1.6 (config version 2).

    `restrict_oom_score_adj`: without CAP_SYS_RESOURCE, as in this lab's machines, every sandbox fails otherwise.
    `state` is under the node's private /run, so it ends with the node.
    """
    return f"""version = 2
root = "{home.store(node)}"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs", "io.containerd.internal.v1.opt"]
[grpc]
  address = "{home.socket(node)}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{home.node(node) / "cni"}"
"""


def cni_conflist(node: Node) -> str:
    """One veth pair a pod, routed by the node.

    Routed (ptp) and not bridged, so that an answer from a pod on the same node passes the node's own
    connection tracking; with a bridge it would bypass kube-proxy's translation.
    """
    ranges = [[{"subnet": str(node.pods), "gateway": str(node.pods.network_address + 1)}]]
    return json.dumps(
        {
            "cniVersion": "0.4.0",
            "name": f"slinky-lab-{node.name}",
            "plugins": [
                {
                    "type": "ptp",
                    "ipMasq": False,
                    "ipam": {
                        "type": "host-local",
                        "dataDir": "/run/cni-addresses",
                        "ranges": ranges,
                        "routes": [{"dst": "0.0.0.0/0"}],
                    },
                },
                {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True},
            ],
        },
        indent=1,
    )


def kubelet_config(home: Home, node: Node) -> str:
    """KubeletConfiguration. JSON is YAML, so no YAML library is needed."""
    return json.dumps(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": str(node.address),
            "authentication": {
                "x509": {"clientCAFile": str(home.pki / "ca.crt")},
                "webhook": {"enabled": True},
                "anonymous": {"enabled": False},
            },
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{node.cgroup}",
            "cgroupsPerQOS": True,
            "clusterDNS": [str(layout.GATEWAY)],
            "clusterDomain": layout.DOMAIN,
            "containerRuntimeEndpoint": f"unix://{home.socket(node)}",
            "enforceNodeAllocatable": [],
            "evictionHard": {},
            "failCgroupV1": False,
            "failSwapOn": False,
            "healthzBindAddress": str(node.address),
            "healthzPort": layout.KUBELET_HEALTH_PORT,
            "imageGCHighThresholdPercent": 100,
            "localStorageCapacityIsolation": False,
            "maxPods": 60,
            "nodeStatusUpdateFrequency": "4s",
            "podLogsDir": "/var/log/pods",
            "resolvConf": "",
            "syncFrequency": "10s",
        },
        indent=1,
    )


def kube_proxy_config(kubeconfig: Path, node: Node) -> str:
    """KubeProxyConfiguration; what a network namespace of its own may not set (conntrack sizes) is left alone.

    `clusterCIDR` is this node's own pod range: what comes to a Service from elsewhere (the machine, the outside hosts) is
    masqueraded, so that its answer comes back through this node.
    """
    return json.dumps(
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "clusterCIDR": str(node.pods),
            "hostnameOverride": node.name,
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "conntrack": {
                "maxPerCore": 0,
                "min": 0,
                "tcpEstablishedTimeout": "0s",
                "tcpCloseWaitTimeout": "0s",
                "udpTimeout": "0s",
                "udpStreamTimeout": "0s",
            },
            "healthzBindAddress": f"{node.address}:10256",
            "metricsBindAddress": "127.0.0.1:10249",
        },
        indent=1,
    )


def corefile(hosts: Path, kubeconfig: Path) -> str:
    """Cluster DNS for pods and for the hosts outside: cluster.local from the API, every other name from `hosts`.

    No forwarding: the lab needs no other name, and an unknown one fails at once (NXDOMAIN).
    """
    return f""".:53 {{
    bind {layout.GATEWAY}
    errors
    ready {layout.GATEWAY}:{layout.DNS_HEALTH_PORT}
    cache {{
        success 1000 2
        denial 1000 2
    }}
    hosts {hosts} {{
        ttl 5
        reload 2s
        fallthrough
    }}
    kubernetes {layout.DOMAIN} {layout.POD_NET} {layout.SERVICE_NET} {{
        kubeconfig {kubeconfig}
        pods insecure
        ttl 2
    }}
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""


def kubeconfig(server: str, authority: bytes, certificate: bytes, key: bytes) -> str:
    """A kubeconfig that holds everything it needs; a secret, since the key is in it."""

    def encoded(pem: bytes) -> str:
        return base64.b64encode(pem).decode()

    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "slinky-lab",
            "contexts": [{"name": "slinky-lab", "context": {"cluster": "slinky-lab", "user": "slinky-lab"}}],
            "clusters": [
                {
                    "name": "slinky-lab",
                    "cluster": {"server": server, "certificate-authority-data": encoded(authority)},
                }
            ],
            "users": [
                {
                    "name": "slinky-lab",
                    "user": {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)},
                }
            ],
        },
        indent=1,
    )


def etcd_argv(home: Home) -> list[str]:
    """etcd for one machine, on the loopback only."""
    client = f"http://127.0.0.1:{layout.ETCD_PORT}"
    peer = f"http://127.0.0.1:{layout.ETCD_PEER_PORT}"
    return [
        "etcd", "--name", "lab", "--data-dir", str(home.etcd),
        "--listen-client-urls", client, "--advertise-client-urls", client,
        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"lab={peer}",
        "--logger", "zap", "--log-level", "warn",
    ]  # fmt: skip


def apiserver_argv(binary: Path, home: Home, address: IPv4Address = layout.GATEWAY) -> list[str]:
    """kube-apiserver.

    `enable-aggregator-routing` makes it call webhooks at their pods' addresses: this machine's own network
    namespace then needs no kube-proxy and none of its rules. `WatchList` needs an etcd that reports the progress of a watch,
    from 3.4.25 on: with Debian's 3.4.23 every watch from version 0 would be an error (apiserver's cacher.go), as kwok asks.
    """
    pki = home.pki
    return [
        str(binary),
        f"--etcd-servers=http://127.0.0.1:{layout.ETCD_PORT}",
        f"--bind-address={address}",
        f"--advertise-address={address}",
        f"--secure-port={layout.API_PORT}",
        f"--service-cluster-ip-range={layout.SERVICE_NET}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        f"--service-account-key-file={pki / 'service-accounts.key'}",
        f"--service-account-signing-key-file={pki / 'service-accounts.key'}",
        f"--service-account-issuer=https://kubernetes.default.svc.{layout.DOMAIN}",
        f"--kubelet-client-certificate={pki / 'admin.crt'}",
        f"--kubelet-client-key={pki / 'admin.key'}",
        "--kubelet-preferred-address-types=InternalIP",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        "--feature-gates=WatchList=false",
        "--enable-aggregator-routing=true",
        f"--requestheader-client-ca-file={pki / 'ca.crt'}",
        f"--requestheader-allowed-names={layout.FRONT_PROXY}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={pki / f'{layout.FRONT_PROXY}.crt'}",
        f"--proxy-client-key-file={pki / f'{layout.FRONT_PROXY}.key'}",
        "--event-ttl=2h",
        f"--audit-policy-file={home.root / AUDIT_POLICY}",
        f"--audit-log-path={home.root / AUDIT_LOG}",
    ]


AUDIT_POLICY, AUDIT_LOG = "audit-policy.json", "audit.log"
AUDITED = "slinky-accounts"
"""Namespace whose ServiceAccounts' requests are in the audit log."""


def audit_policy() -> str:
    """Who asked for what, of the ServiceAccounts of one namespace; no body of a request, and nothing of all others."""
    recorded = {"level": "Metadata", "userGroups": [f"system:serviceaccounts:{AUDITED}"]}
    head = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"]}
    return json.dumps({**head, "rules": [recorded, {"level": "None"}]})
