"""Dynamic resources under the types of the program's own, with a provider that does nothing at all."""

from pulumi.dynamic import CreateResult, Resource, ResourceProvider


class Nothing(ResourceProvider):
    def create(self, props):
        return CreateResult("made", props)


class NodeSetScale(Resource, module="slurm", name="NodeSetScale"):
    pass


class ClusterIdentity(Resource, module="slurm", name="ClusterIdentity"):
    pass


class SlurmJob(Resource, module="slurm", name="SlurmJob"):
    pass


def register(kind):
    return lambda name, props, opts: kind(Nothing(), name, props, opts)


KINDS = (NodeSetScale, ClusterIdentity, SlurmJob)
REGISTER = {f"pulumi-python:dynamic/slurm:{kind.__name__}": register(kind) for kind in KINDS}
