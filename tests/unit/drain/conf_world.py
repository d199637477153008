"""slurmctld in Kubernetes as the gates around its configuration see it: partitions, ConfigMap, a clock that looks move."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from slinky_iac.drain.lease import ThisRun
from slinky_iac.drain.session import act_on_slurm
from slinky_iac.errors import KubeConflict, KubeNotFound
from slinky_iac.kube.objects import WrittenMeta
from slinky_iac.kube.resources import Controller, ControllerSpec, OwnConfigMap
from tests.made.rows import NOW, number
from tests.unit.slurmrest.fake import FakeSlurm, answer, error


class Slurmctld(FakeSlurm):
    """With partitions, as slurmrestd 26.05 has them (or 25.11, which can't set their state)."""

    def __init__(self, partitions, *, release="26.05"):
        super().__init__(served=("v0.0.44", "v0.0.45") if release == "26.05" else ("v0.0.44",))
        self.partitions = dict(partitions)
        self.began = NOW - 9000
        self.set_to = []
        self.cluster_name = ""

    def serve(self, request, rest, body):
        if rest == "partitions/" and request.method == "GET":
            rows = [{"name": name, "partition": {"state": [state]}} for name, state in self.partitions.items()]
            return answer(partitions=rows)
        if rest == "partitions/" and "v0.0.45" in request.url.path:
            for row in body["partitions"]:
                if row["partition"]["state"][0] not in {"UP", "DOWN", "DRAIN", "INACTIVE"}:
                    return answer(500, [error(9207)])
                self.partitions[row["name"]] = row["partition"]["state"][0]
                self.set_to.append((row["name"], row["partition"]["state"][0]))
            return answer()
        if rest == "conf" and "v0.0.45" in request.url.path:
            return answer(slurm_conf={"ClusterName": self.cluster_name}, slurm_conf_meta={"BOOT_TIME": number(self.began)})
        return super().serve(request, rest, body)


class Kube:
    """A Controller, NodeSets and ConfigMaps."""

    def asked(self, _path, kind, _what, **_):
        return msgspec.convert({"metadata": {"name": "hpc", "uid": "1"}}, kind)

    def __init__(self, extra_conf=None, nodesets=()):
        self._extra_conf = extra_conf
        self.version = 1
        self.sets = list(nodesets)
        self.maps = {}
        self.written = []

    @property
    def extra_conf(self):
        return self._extra_conf

    @extra_conf.setter
    def extra_conf(self, text):
        self._extra_conf = text
        self.version += 1

    def controller(self, _namespace, name):
        if self.extra_conf is None:
            raise KubeNotFound("no Controller")
        made = datetime.fromtimestamp(NOW, UTC)
        version = f"{self.version}"
        meta = WrittenMeta(name=name, namespace="slurm", uid="uid", resource_version=version, creation_timestamp=made)
        return Controller(meta, ControllerSpec(self.extra_conf))

    def set_extra_conf(self, _namespace, state, text):
        if state.metadata.resource_version != f"{self.version}":
            raise KubeConflict("written since")
        self.extra_conf = text
        self.written.append(text)

    def delete(self, kind, _namespace, meta):
        assert kind == "Controller"
        if meta.resource_version != f"{self.version}":
            raise KubeConflict("written since")
        self.extra_conf = None

    def nodesets(self, _namespace):
        return tuple(self.sets)

    def config_map(self, _namespace, name):
        if name not in self.maps:
            raise KubeNotFound("no ConfigMap")
        return self.maps[name]

    def write_config_map(self, namespace, name, found, data):
        if found is not self.maps.get(name):
            raise KubeConflict("written since")
        entries = {**({} if found is None else found.data), **data}
        entries = {key: text for key, text in entries.items() if text is not None}
        self.maps.pop(name, None)
        if entries:
            self.set_map(name, entries)

    def set_map(self, name, entries):
        """As somebody else sets entries of it."""
        found = self.maps[name].data if name in self.maps else {}
        self.maps[name] = OwnConfigMap(data={**found, **entries}, metadata=written(name))


def written(name):
    made = datetime.fromtimestamp(NOW, UTC)
    return WrittenMeta(name=name, namespace="slurm", uid="uid", resource_version="1", creation_timestamp=made)


class ConfSession:
    """A session whose pauses let ``then`` act on the world: one act a pause."""

    def __init__(self, slurmctld, kube, reach, then=()):
        self.world, self.kube, self.reach = slurmctld, kube, reach
        self._client = slurmctld.client()
        self._then = list(then)
        self.said = []
        self.alive = True
        self.pauses = 0
        self.rests = []
        self.this_run = ThisRun()
        self.asked_by = "alice@desk"

    @property
    def slurm(self):
        return self._client

    def now(self):
        return int(self.world.ticks.clock().wall())

    def steady(self):
        return self.world.ticks.now

    def pause(self, seconds):
        self.pauses += 1
        self.rests.append(seconds)
        assert self.pauses < 2000, "it never ends"
        self.world.ticks.now += seconds
        return self._then.pop(0)() is True if self._then else False

    def engine_lives(self):
        return self.alive

    watched = True

    def act(self, step, owner):
        act_on_slurm(self.slurm, step, owner, self.report)

    def report(self, message, **_more):
        self.said.append(message)
