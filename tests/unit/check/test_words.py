"""What people type after the Slinky guide or a Kubernetes manual leads to our setting, with YAML that is sound when pasted.

The rows are those of a review in which a new user wrote stacks before reading the reference.
"""

from __future__ import annotations

from typing import Any

import pytest

from slinky_iac.commands.check import judge
from slinky_iac.config.findings import Finding, Level
from slinky_iac.config.reading.load import examined
from slinky_iac.config.reading.stack_file import Place
from tests.stacks import minimal

HEAD = "config:\n  slinky-iac:cluster:\n    name: lab\n  slinky-iac:accounting:\n    enabled: false\n"


def places(more: str, head: str = HEAD) -> list[Place]:
    return list(judge(head + more)[1])


def errors(more: str, head: str = HEAD) -> list[Finding]:
    return [place.finding for place in places(more, head) if place.finding.level is Level.ERROR]


def nodeset(lines: str) -> str:
    return "  slinky-iac:nodesets:\n    gpu:\n" + "".join(f"      {line}\n" for line in lines.splitlines())


def cluster(line: str) -> str:
    return HEAD.replace("    name: lab\n", f"    name: lab\n    {line}\n")


OF_KEYS = "it is `keys.{}KeyFrom: {{secret: …, key: …}}`, with `keys.source: existing`"
THERE = "with cluster.createNamespace false, since the Secret's namespace is there already"
IN_NODESET = [
    ("hostNetwork: true", "nodesets.gpu.hostNetwork: is not a setting; it is `nodesets.gpu.pod.hostNetwork`"),
    ("count: 2", "nodesets.gpu.count: is not a setting; it is `nodesets.gpu.replicas`"),
    ("gpus: 8", "nodesets.gpu.gpus: is not a setting; GPUs are `resources.extended` and `gres`"),
    (
        "dnsPolicy: ClusterFirst",
        "nodesets.gpu.dnsPolicy: is not a setting; is set for you together with `pod.hostNetwork: true`",
    ),
    (
        "pod:\n  hostNetwork: true\n  dnsPolicy: x",
        "nodesets.gpu.pod.dnsPolicy: is not a setting; is set for you together with",
    ),
    (
        "partition:\n  configMap: {}",
        "nodesets.gpu.partition.configMap: is not a setting; it is `partition.config`, a mapping",
    ),
    (
        "slurmd:\n  resources: {}",
        "nodesets.gpu.slurmd: is not a setting; there is no level `slurmd`: image, resources and env",
    ),
    ("nodeSelector: {a: b}", "nodesets.gpu.nodeSelector: is not a setting; it is `nodesets.gpu.pod.nodeSelector`"),
    ("podSpec: {}", "nodesets.gpu.podSpec: is not a setting; placement, labels and annotations are settings of"),
    (
        "resources:\n  limits: {}",
        "nodesets.gpu.resources: has requests and limits, as Kubernetes writes them; here they are one size",
    ),
    ("enabled: true", "nodesets.gpu.enabled: is not a setting; what is in this file is there"),
    ("extraConfMap: {}", "nodesets.gpu.extraConfMap: is not a setting; it is `extraConf`, a mapping"),
]


@pytest.mark.parametrize(("typed", "said"), IN_NODESET, ids=[typed.split(":")[0] for typed, _ in IN_NODESET])
def test_a_word_of_the_chart_in_a_nodeset_leads_to_our_setting(typed: str, said: str) -> None:
    more = "" if typed.startswith("count") else "replicas: 1\n"
    assert any(str(each).startswith(said) for each in errors(nodeset(more + typed))), errors(nodeset(more + typed))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "  slinky-iac:controller:\n    external: true\n    externalConfig: {host: ctl.example.org}\n",
            {
                "controller.external: got true; `external` holds the outside host itself: controller.external.host"
                " and .port",
                "controller.externalConfig: is not a setting; the outside slurmctld is `controller.external`",
            },
        ),
        (
            "  slinky-iac:slurmKeyRef: {name: a, key: slurm.key}\n  slinky-iac:jwtHs256KeyRef: {name: b, key: jwt}\n",
            {
                f"slurmKeyRef: is not a setting; {OF_KEYS.format('slurm')}; {THERE}",
                f"jwtHs256KeyRef: is not a setting; {OF_KEYS.format('jwt')}; {THERE}",
            },
        ),
        ("  slinky-iac:clusterName: atlas\n", {"clusterName: is not a setting; the name is `cluster.name`"}),
        (
            "  slinky-iac:operator:\n    version: 1.2\n",
            {'operator.version: got the number 1.2; give all three numbers, quoted: version: "1.2.1"'},
        ),
    ],
    ids=["externalConfig", "slurmKeyRef", "clusterName", "operator.version"],
)
def test_a_word_of_the_chart_in_a_section_leads_to_our_setting(typed: str, said: set[str]) -> None:
    assert {str(each) for each in errors(typed)} == said


@pytest.mark.parametrize(("typed", "quoted"), [("26.05", '"26.05"'), ("26.5", '"26.05"'), ("25.11", '"25.11"')])
def test_an_unquoted_release_is_named_with_its_quotes(typed: str, quoted: str) -> None:
    (found,) = errors("", cluster(f"slurmVersion: {typed}"))
    assert f"quote it: slurmVersion: {quoted}" in found.message
    assert found.paste == f"slinky-iac:cluster:\n  slurmVersion: {quoted}\n"


@pytest.mark.parametrize("typed", ["26.1", "26", "99.9"])
def test_a_number_that_is_no_release_is_not_made_one(typed: str) -> None:
    """26.5 was mended to 26.50, which no release is."""
    (found,) = errors("", cluster(f"slurmVersion: {typed}"))
    assert "no such release" in found.message
    assert (found.paste, found.instead) == ("", None)
    assert any("26.05" in each.message for each in errors("", cluster('slurmVersion: "26.50"')))


def test_the_release_that_slurmd_prints_is_read() -> None:
    config, _ = judge(cluster('slurmVersion: "26.05.2"'))
    assert config is not None
    assert config.cluster.slurm_version == "26.05"


def test_a_share_may_be_a_percentage() -> None:
    config, found = judge(HEAD + nodeset("replicas: 2\ndrain:\n  limits:\n    maxShare: 50%"))
    assert config is not None, found
    assert config.nodesets["gpu"].drain.limits.max_share == 0.5
    (wrong,) = errors(nodeset("replicas: 2\ndrain:\n  limits:\n    maxShare: 150%"))
    assert "must be at most 1" in wrong.message


def test_an_older_slurm_gets_the_images_to_paste() -> None:
    outside = (
        "config:\n  slinky-iac:cluster: {name: lab, slurmVersion: '25.11'}\n"
        "  slinky-iac:keys: {source: imported}\n  slinky-iac:accounting: {enabled: false}\n"
        "  slinky-iac:controller: {external: {host: ctl.example.org}}\n  slinky-iac:nodesets: {cpu: {replicas: 1}}\n"
    )
    found = [each for each in errors("", outside) if "Set an image" in each.message]
    assert {line.strip() for each in found for line in each.paste.splitlines()[2:]} == {
        "slurmrestd: ghcr.io/slinkyproject/slurmrestd:25.11-ubuntu24.04",
        "slurmd: ghcr.io/slinkyproject/slurmd:25.11-ubuntu24.04",
    }


@pytest.mark.parametrize("digits", [60, 400, 5000], ids=["long", "no float", "no text"])
@pytest.mark.parametrize(
    "place", ["cluster.slurmVersion", "operator.version", "cluster.namespace", "controller.external.port"]
)
def test_a_number_of_any_length_is_refused_in_few_words(place: str, digits: int) -> None:
    data: dict[str, Any] = minimal(controller={"external": {"host": "ctl.example.org"}})
    inner = data
    *sections, leaf = place.split(".")
    for name in sections:
        inner = inner.setdefault(name, {})
    inner[leaf] = 10**digits
    _, found = examined(data)
    assert [each.path for each in found] == [place]
    assert len(found[0].message) < 200


def test_a_wrong_number_is_shown() -> None:
    found = errors("  slinky-iac:controller:\n    external: {host: ctl.example.org, port: many}\n")
    assert [str(each) for each in found] == ["controller.external.port: must be a whole number, got 'many'"]


def test_a_section_of_another_project_is_named() -> None:
    found = errors("", HEAD.replace("slinky-iac:cluster", "hpc:cluster"))
    assert [str(each) for each in found] == [
        "cluster: found hpc:cluster, which this program doesn't read: write slinky-iac:cluster in its place"
    ]


def test_a_section_without_a_prefix_is_read_as_the_engine_reads_it() -> None:
    assert errors("", HEAD.replace("slinky-iac:cluster", "cluster")) == []
    places = judge(HEAD.replace("slinky-iac:cluster", "cluster"), project="hpc")[1]
    assert [str(place.finding) for place in places] == [
        "cluster: has no prefix, and so belongs to the project, which Pulumi.yaml calls hpc: write slinky-iac:cluster in its"
        " place"
    ]


def test_a_project_of_another_name_is_noticed_with_the_prefix_of_every_command() -> None:
    (note,) = (place for place in judge(HEAD, project="hpc")[1] if place.finding.id == "project-renamed")
    assert note.finding.level is Level.INFO
    assert "Pulumi.yaml calls the project hpc" in note.finding.message
    assert "pulumi config set --secret slinky-iac:slurmKey" in note.finding.message
    assert "project-renamed" not in {place.finding.id for place in judge(HEAD)[1]}
    accepted = judge(f"{HEAD}  slinky-iac:acknowledged: {{project-renamed: all know it}}\n", project="hpc")[1]
    assert [place.finding.reason for place in accepted if place.finding.id == "project-renamed"] == ["all know it"]


def test_a_tab_is_named_with_its_line() -> None:
    (place,) = places(nodeset("replicas: 1").replace("      replicas", "\t  replicas"))
    assert (place.line, place.finding.message) == (8, "column 1: a tab indents here, YAML takes spaces")


def test_what_was_typed_is_in_what_is_to_be_pasted() -> None:
    found = errors(
        "  slinky-iac:controller:\n    externalConfig: {host: ctl.example.net, port: 6900}\n" + nodeset("count: 7\ngpus: 4")
    )
    pasted = {each.path: each.paste for each in found}
    assert "host: ctl.example.net\n    port: 6900\n" in pasted["controller.externalConfig"]
    assert pasted["nodesets.gpu.count"] == "slinky-iac:nodesets:\n  gpu:\n    replicas: 7\n"
    assert "nvidia.com/gpu: 4" in pasted["nodesets.gpu.gpus"]
    assert "gres:\n      - gpu:4\n" in pasted["nodesets.gpu.gpus"]


def test_a_secret_in_the_place_of_a_host_is_not_pasted() -> None:
    key = "cmVhbCBrZXkgb2YgNDIgYnl0ZXMgaXMgaGVyZSBhbmQgbm93aGVyZQ"
    found = errors(f"  slinky-iac:controller:\n    externalConfig: {{host: {key}, token: {key}}}\n")
    assert [each for each in found if key in each.message + each.paste] == []


OUTSIDE = "with slurmctld outside they belong in its host's slurm.conf"


@pytest.mark.parametrize(
    ("more", "path", "said", "instead"),
    [
        (
            "  slinky-iac:controller:\n    external: 10.1.0.10\n",
            "controller.external",
            "it is the host of `external`",
            {"controller": {"external": {"host": "10.1.0.10"}}},
        ),
        (
            "  slinky-iac:controller:\n    external: ctl.example.org:6818\n",
            "controller.external",
            "it is the host of `external`",
            {"controller": {"external": {"host": "ctl.example.org", "port": 6818}}},
        ),
        (
            "  slinky-iac:controller:\n    extraConf: |\n      SchedulerType=sched/backfill\n      SlurmctldDebug=info\n",
            "controller.extraConf",
            OUTSIDE,
            {"controller": {"extraConf": {"SchedulerType": "sched/backfill", "SlurmctldDebug": "info"}}},
        ),
        (
            nodeset("replicas: 1\npartition: PartitionName=burst Nodes=burst MaxTime=1-0"),
            "nodesets.gpu.partition",
            "parameters go below `config`",
            {"nodesets": {"gpu": {"partition": {"config": {"MaxTime": "1-0"}}}}},
        ),
        (
            nodeset("replicas: 1\npartition:\n  config: MaxTime=1-0 Default=YES"),
            "nodesets.gpu.partition.config",
            "each parameter on a line of its own",
            {"nodesets": {"gpu": {"partition": {"config": {"MaxTime": "1-0", "Default": "YES"}}}}},
        ),
        (
            "  slinky-iac:partitions:\n    all: PartitionName=all Nodes=gpu,fat Default=YES\n",
            "partitions.all",
            "nodes go to `nodesets`",
            {"partitions": {"all": {"nodesets": ["gpu", "fat"], "config": {"Default": "YES"}}}},
        ),
        (
            "  slinky-iac:partitions:\n    all: PartitionName=all Nodes=metal-[001-500],rack[1,3]n[1-2],all\n",
            "partitions.all",
            "nodes go to `nodesets`",
            {"partitions": {"all": {"nodesets": ["metal-[001-500]", "rack[1,3]n[1-2]", "ALL"]}}},
        ),
        (
            nodeset("replicas: 1\nresources: {mem: 4Gi}"),
            "nodesets.gpu.resources.mem",
            "it is `nodesets.gpu.resources.memory`",
            {"nodesets": {"gpu": {"resources": {"memory": "4Gi"}}}},
        ),
    ],
)
def test_what_is_pasted_from_slurm_conf_becomes_the_setting_that_it_is(
    more: str, path: str, said: str, instead: dict[str, Any]
) -> None:
    (found,) = errors(more)
    assert (found.path, found.instead, said in found.message) == (path, instead, True), found


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            "  slinky-iac:controller: {SlurmctldHost: ctl}\n",
            "controller.SlurmctldHost: is a parameter of slurm.conf and not a",
        ),
        ("  slinky-iac:controller: {SlurmctldHost: ctl}\n", "for slurmctld on a host set controller.external.host"),
        ("  slinky-iac:controller: {SlurmctldDebug: info}\n", "it goes below controller.extraConf; with slurmctld outside"),
        (
            nodeset("replicas: 1\nRealMemory: 4096"),
            "nodesets.gpu.RealMemory: is a parameter of slurm.conf and not a setting",
        ),
    ],
)
def test_a_parameter_of_slurm_conf_keeps_its_name_and_is_led_to_its_place(more: str, said: str) -> None:
    (found,) = errors(more)
    assert said in str(found)


def test_a_text_that_may_be_a_secret_is_no_host_that_is_shown() -> None:
    secret = "aB3" * 14
    for place in places(f"  slinky-iac:controller:\n    external: {secret}\n"):
        assert secret not in str(place.finding) + place.finding.paste
