"""What the release of the chart doesn't read has no effect with Helm, so it is named and has none here."""

from __future__ import annotations

import pytest

from slinky_iac.config.chart.table import ROWS
from slinky_iac.config.chart.unread import BY_RELEASE
from tests.unit.chart.reading import found, taken
from tests.unit.chart.test_table import KEYS, READ_BEFORE, place


@pytest.mark.parametrize(
    ("values", "key", "right"),
    [
        ("controller: {extraconf: MinJobAge=2}", "controller.extraconf", "extraConf"),
        ("nodesets: {a: {Replicas: 4}}", "nodesets.a.Replicas", "replicas"),
        ("nodesetdefaults: {replicas: 4}\nnodesets: {a: {}}", "nodesetdefaults", "nodesetDefaults"),
        ("nodesetDefaults: {Replicas: 4}\nnodesets: {a: {}}", "nodesetDefaults.Replicas", "replicas"),
        ("nodesets: {a: {podSpec: {nodeselector: {a: b}}}}", "nodesets.a.podSpec.nodeselector", "nodeSelector"),
        ("nodesets: {a: {slurmd: {Resources: {limits: {cpu: 1}}}}}", "nodesets.a.slurmd.Resources", "resources"),
        ("clustername: other", "clustername", "clusterName"),
        ("controller: {External: true}", "controller.External", "external"),
    ],
)
def test_another_spelling_is_not_read_as_helm_does_not(values: str, key: str, right: str) -> None:
    settings, left = taken(values)
    assert left == {key: f"did you mean {right}? The chart reads only that spelling, so this has no effect with Helm"}
    assert settings == taken("nodesets: {a: {}}" if "nodesets: {a" in values else "{}")[0]


def test_names_of_the_user_s_own_are_in_any_spelling() -> None:
    settings, left = taken(
        "nodesets: {GPU: {replicas: 1, podSpec: {nodeSelector: {Pool: gpu}}, extraConfMap: {weight: 1}}}\n"
        "configFiles: {Cgroup.conf: a}\npartitions: {ALL: {enabled: true, nodesets: [ALL], configMap: {state: UP}}}"
    )
    assert left == {}
    assert settings["nodesets"]["GPU"]["extraConf"] == {"weight": "1"}
    assert settings["nodesets"]["GPU"]["pod"] == {"nodeSelector": {"Pool": "gpu"}}


@pytest.mark.parametrize(
    ("line", "read", "said"),
    [((1, 0), True, ""), ((1, 1), False, "chart 1.1 doesn't read it, only 1.0"), ((1, 2), False, "chart 1.2 doesn't")],
)
def test_keys_of_another_release_give_the_stack_no_keys(line: tuple[int, int], read: bool, said: str) -> None:
    """1.1 makes its own key beside an old slurmKeyRef, and the pods have that one."""
    settings, left = taken("slurmKeyRef: {name: a, key: k}\njwtHs256KeyRef: {name: b, key: k}", line)
    assert (settings.get("keys") is not None) == read
    assert set(left) == (set() if read else {"slurmKeyRef", "jwtHs256KeyRef"})
    assert all(why.startswith(said) for why in left.values())


@pytest.mark.parametrize(
    ("values", "line", "key"),
    [
        ("slurmKey: {create: false, secretRef: {name: a}}", (1, 0), "slurmKey"),
        ("nodesetDefaults: {replicas: 7}\nnodesets: {slinky: {}}", (1, 1), "nodesetDefaults"),
        (
            "nodesets: {slinky: {slurmd: {image: {tag: '1', digest: 'sha256:0'}}}}",
            (1, 1),
            "nodesets.slinky.slurmd.image.digest",
        ),
    ],
)
def test_a_newer_release_s_key_is_not_read_by_an_older_one(values: str, line: tuple[int, int], key: str) -> None:
    settings, left = taken(values, line)
    assert list(left) == [key]
    assert "keys" not in settings
    assert settings["nodesets"]["slinky"]["replicas"] == 1
    assert "sha256" not in str(settings)


@pytest.mark.parametrize("minor", [0, 1, 2, 3])
def test_a_container_that_no_release_has_gives_no_image_to_all(minor: int) -> None:
    settings, left = taken(
        "accounting: {enabled: true, initconf: {image: {repository: r, tag: wrong}}}\n"
        "controller: {logfile: {image: {repository: r, tag: right}}}",
        (1, minor),
    )
    assert settings["cluster"]["images"] == {"sidecar": "r:right"}
    assert left == {
        "accounting.initconf": f"chart 1.{minor} doesn't read it, and no other release does, so it has no effect with Helm"
    }


def test_of_several_images_of_sidecars_the_pods_with_jobs_have_theirs_and_the_others_are_named_with_it() -> None:
    read = found(
        "loginsets: {b: {initconf: {image: {repository: r, tag: login}}}}\n"
        "controller: {logfile: {image: {repository: r, tag: ctl}}}\n"
        "nodesets: {a: {logfile: {image: {repository: r, tag: jobs}}}}\n"
    )
    assert read.taken.settings["cluster"]["images"] == {"sidecar": "r:jobs"}
    said = "`cluster.images.sidecar` is one for all, and nodesets.a.logfile.image has given it r:jobs"
    assert dict(read.taken.left) == {"controller.logfile.image": said, "loginsets.b.initconf.image": said}
    (note,) = (each for each in read.notes if "one for every log" in each)
    assert note.startswith("nodesets.a.logfile.image: here it is `cluster.images.sidecar` (r:jobs), one for every")


def test_words_that_people_type_in_a_stack_s_file_are_not_the_chart_s() -> None:
    settings, left = taken("nodesets: {a: {count: 4, tolerations: [{key: x}], podSpec: {tolerations: [{key: y}]}}}")
    assert settings["nodesets"]["a"]["replicas"] == 1
    assert settings["nodesets"]["a"]["pod"]["tolerations"] == [{"key": "y"}]
    assert left["nodesets.a.count"].endswith("has no effect with Helm. Here it is `nodesets.a.replicas`")
    assert set(left) == {"nodesets.a.count", "nodesets.a.tolerations"}


def test_every_key_of_the_chart_is_read_by_the_releases_that_have_it() -> None:
    """In every release that isn't excepted no key is called misspelt, and none another tool's."""
    for key in {place(each) for each in KEYS} - READ_BEFORE:
        for minor in range(4):
            value: object = "x"
            for part in reversed(key.split(".")):
                value = {part: value}
            _, left = taken(str(value).replace("'", '"'), (1, minor))
            own = [
                why for why in left.values() if "doesn't read it, only 1." not in why
            ]  # of another release, which it names
            assert not [why for why in own if "no effect with Helm" in why or "did you mean" in why], key


def test_a_key_by_release_has_a_row() -> None:
    rows = {row.at.removesuffix(".**") for row in ROWS}
    lost = [
        key
        for key in BY_RELEASE
        if not any(row == key or row.startswith(f"{key}.") or key.startswith(f"{row}.") for row in rows)
    ]
    assert lost == ["nodesetDefaults", "loginsetDefaults"]


def test_of_a_misspelt_container_its_volumes_are_named_too() -> None:
    settings, left = taken(
        "nodesets: {h100: {slrumd: {volumeMounts: [{name: h, mountPath: /home}]},"
        " podSpec: {volumes: [{name: h, emptyDir: {}}]}}}"
    )
    assert left == {
        "nodesets.h100.slrumd": "isn't a key of Slinky's chart 1.0 to 1.3, so it has no effect with Helm; did you"
        " mean slurmd? What is below it isn't"
        " carried over",
        "nodesets.h100.podSpec.volumes (h)": "its mount is below the misspelt key",
    }
    assert "volumes" not in settings["nodesets"]["h100"]


@pytest.mark.parametrize(
    ("container", "said"),
    [
        ("extraConf: Weight=1", "the chart has it one level up, nodesets.gpu.extraConf; here it had no effect"),
        ("replicas: 2", "the chart has it one level up, nodesets.gpu.replicas; here it had no effect"),
        (
            "resource: {limits: {cpu: 1}}",
            "isn't a field of a container, so it had no effect; did you mean resources?",
        ),
        ("livenesProbe: {}", ""),
        ("zzz: 1", "isn't a field of a container, so it had no effect"),
    ],
)
@pytest.mark.parametrize(
    "above", ["nodesets: {gpu: {slurmd: {%s}}}", "nodesetDefaults: {slurmd: {%s}}\nnodesets: {gpu: {}}"]
)
def test_what_is_no_field_of_a_container_is_named_and_not_carried_over(above: str, container: str, said: str) -> None:
    settings, left = taken(above % container)
    word = container.partition(":")[0]
    at = f"nodesets.gpu.slurmd.{word}" if above.startswith("nodesets:") else f"nodesetDefaults.slurmd.{word}"
    here = said if above.startswith("nodesets:") else said.replace("nodesets.gpu.", "nodesetDefaults.")
    assert left == ({at: here} if said else {})
    assert "raw" not in settings["nodesets"]["gpu"]


def test_a_field_of_a_container_is_carried_over() -> None:
    settings, left = taken("nodesets: {gpu: {slurmd: {workingDir: /home}}}\ncontroller: {slurmctld: {workingDir: /a}}")
    assert left == {}
    assert settings["nodesets"]["gpu"]["raw"]["container"] == {"workingDir": "/home"}
    assert settings["controller"]["raw"]["container"] == {"workingDir": "/a"}


def test_a_password_in_plain_text_names_the_secret_that_has_it() -> None:
    _, left = taken("accounting: {enabled: true, storageConfig: {host: db.example.org, password: hunter}}")
    assert left["accounting.storageConfig.password"].endswith(
        "Here the password is that of the Secret in passwordKeyRef; look that it is there"
    )
