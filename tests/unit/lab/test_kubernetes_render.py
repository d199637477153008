"""What the lab's Kubernetes is configured with: invariants that broke, or would break, a real lab."""

import base64
import json
import tomllib
from ipaddress import IPv4Network
from pathlib import Path

from lab.kubernetes import layout, pki, render
from lab.kubernetes.layout import NODES, Home
from lab.slurm import topology

HOME = Home(Path("/state/kubernetes"))


def test_no_two_networks_overlap() -> None:
    ranges: list[IPv4Network] = [node.pods for node in NODES]
    ranges += [layout.NODE_NET, layout.SERVICE_NET, topology.OUTSIDE]
    for number, one in enumerate(ranges):
        assert not any(one.overlaps(other) for other in ranges[number + 1 :])


def test_pods_and_nodes_are_what_the_outside_hosts_call_the_pod_network() -> None:
    assert layout.POD_NET == topology.PODS
    assert all(node.pods.subnet_of(topology.PODS) for node in NODES)
    assert layout.GATEWAY == topology.CLUSTER_DNS


def test_interface_names_fit_linux() -> None:
    assert all(len(name) <= 15 for name in (layout.BRIDGE, *(node.link for node in NODES)))


def test_node_names_are_short() -> None:
    assert [node.name for node in NODES] == ["node-1", "node-2", "node-3"]


def test_containerd_config_is_toml_and_keeps_each_node_to_itself() -> None:
    configs = [tomllib.loads(render.containerd_toml(HOME, node)) for node in NODES]
    for node, config in zip(NODES, configs, strict=True):
        cri = config["plugins"]["io.containerd.grpc.v1.cri"]
        assert cri["restrict_oom_score_adj"] is True
        assert cri["cni"]["conf_dir"] == str(HOME.node(node) / "cni")
        assert config["grpc"]["address"] == str(HOME.socket(node))
    assert len({config["root"] for config in configs}) == len(NODES)


def test_pods_get_addresses_of_their_node_without_translation() -> None:
    for node in NODES:
        ptp, _portmap = json.loads(render.cni_conflist(node))["plugins"]
        (ranges,) = ptp["ipam"]["ranges"]
        assert [IPv4Network(each["subnet"]) for each in ranges] == [node.pods]
        assert ptp["ipMasq"] is False


def test_kubelet_speaks_to_its_own_containerd_and_cgroup() -> None:
    for node in NODES:
        config = json.loads(render.kubelet_config(HOME, node))
        assert config["containerRuntimeEndpoint"] == f"unix://{HOME.socket(node)}"
        assert config["cgroupRoot"] == f"/{node.cgroup}"
        assert config["clusterDNS"] == [str(layout.GATEWAY)]
        assert config["authentication"]["anonymous"] == {"enabled": False}


def test_answers_of_services_come_back_through_the_node_that_translated() -> None:
    for node in NODES:
        assert json.loads(render.kube_proxy_config(Path("k"), node))["clusterCIDR"] == str(node.pods)


def test_dns_answers_for_outside_hosts_and_never_forwards() -> None:
    text = render.corefile(Path("/state/hosts"), Path("/state/kubeconfig"))
    assert "hosts /state/hosts {" in text
    assert f"bind {layout.GATEWAY}" in text
    assert "forward" not in text


def test_every_directive_of_the_corefile_is_compiled_in() -> None:
    main = (Path(render.__file__).parents[1] / "toolchain" / "coredns" / "main.go").read_text()
    text = render.corefile(Path("h"), Path("k"))
    directives = {line.split()[0] for line in text.splitlines() if line.startswith("    ") and line[4] not in " }"}
    for directive in directives:
        assert f'plugin/{directive}"' in main
        assert f'"{directive}"' in main


def test_kubeconfig_carries_its_credentials_and_nothing_else_does(tmp_path: Path) -> None:
    config = json.loads(render.kubeconfig("https://10.88.0.1:16443", b"CA", b"CRT", b"KEY"))
    assert base64.b64decode(config["users"][0]["user"]["client-key-data"]) == b"KEY"
    assert config["clusters"][0]["cluster"]["server"] == "https://10.88.0.1:16443"
    path = tmp_path / "kubeconfig"
    pki.write_secret(path, "secret")
    assert path.stat().st_mode & 0o777 == 0o600


def test_api_server_calls_webhooks_without_a_kube_proxy_beside_it() -> None:
    argv = render.apiserver_argv(Path("/bin/kube-apiserver"), HOME)
    assert "--enable-aggregator-routing=true" in argv
    assert f"--secure-port={layout.API_PORT}" in argv


def test_nothing_listens_where_a_machine_may_run_something() -> None:
    common = {2379, 2380, 6443, 8080, 10250, 10257, 10259}
    ours = {layout.API_PORT, layout.ETCD_PORT, layout.ETCD_PEER_PORT, layout.SCHEDULER_PORT}
    assert not common & (ours | {layout.CONTROLLER_MANAGER_PORT, layout.DNS_HEALTH_PORT})


def test_certificates_of_nodes_are_what_the_node_authorizer_expects() -> None:
    nodes = [identity for identity in pki.identities() if identity.group == "system:nodes"]
    assert [identity.user for identity in nodes] == [f"system:node:{node.name}" for node in NODES]


def test_real_certificates_are_signed_by_the_authority_and_made_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    pki.ensure(home)
    before = {path.name: path.read_bytes() for path in home.pki.iterdir()}
    pki.ensure(home)
    assert {path.name: path.read_bytes() for path in home.pki.iterdir()} == before
    assert home.pki.stat().st_mode & 0o777 == 0o700
    for name in ("ca.key", "apiserver.key", "service-accounts.key"):
        assert (home.pki / name).read_text().startswith("-----BEGIN EC PRIVATE KEY-----")
        assert (home.pki / name).stat().st_mode & 0o777 == 0o600
