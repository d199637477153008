"""Cases for the rules about jobs of a stack."""

from __future__ import annotations

from typing import Any

from tests.stacks import SECRETS, minimal
from tests.unit.config.rule_cases import KEYS, Case

CAROL = {"uid": 3001, "gid": 3001}
HELLO = {"user": "alice", "command": ["hostname"], "workingDirectory": "/home/alice"}


def running(job: dict[str, Any], **over: Any) -> dict[str, Any]:
    """A stack with an outside slurmctld that runs this job."""
    sections = {"keys": KEYS, "controller": {"external": {"host": "ctl.example.org"}}, **over}
    return minimal(jobs={"bench": HELLO | job}, **sections)


def inside(job: dict[str, Any], **over: Any) -> dict[str, Any]:
    return minimal(jobs={"bench": HELLO | job}, nodesets={"gpu": {"replicas": 1}}, **over)


JOBS = [
    Case(
        "a job of more nodes than its partition has",
        inside({"partition": "gpu", "nodes": 2}),
        "error",
        "jobs.bench.nodes",
        ("is 2", "has 1 at the most", "wait for ever"),
        {"nodesets": {"gpu": {"owner": "autoscaler", "maxReplicas": 2}}},
    ),
    Case(
        "a job of more nodes than those of a partition together",
        inside({"partition": "all", "nodes": 3}, partitions={"all": {"nodesets": ["gpu"]}}),
        "error",
        "jobs.bench.nodes",
        ("has 1 at the most",),
        {"partitions": {"all": {"nodesets": ["ALL"]}}},
    ),
    Case(
        "no token is written into a key's Secret",
        minimal(tokens={"ci": {"user": "alice", "secret": "slurm-auth-jwths256", "refresh": False}}),
        "error",
        "tokens.ci.secret",
        ("Secret of its own",),
        {"tokens": {"ci": {"secret": "ci-token"}}},
    ),
    Case(
        "no Secret has two users' tokens",
        minimal(tokens={"a": {"user": "alice"}, "b": {"user": "bob", "secret": "slurm-a-token"}}),
        "error",
        "tokens.b.secret",
        ("is the Secret of tokens.a.secret", "act as one user"),
        {"tokens": {"b": {"secret": "b-token"}}},
    ),
    Case(
        "a job of root",
        running({"user": "root"}),
        "error",
        "jobs.bench.user",
        ("root", "ordinary user"),
        {"jobs": {"bench": {"user": "alice"}}},
    ),
    Case(
        "a job of SlurmUser",
        running({"user": "slurm"}),
        "error",
        "jobs.bench.user",
        ("slurm", "ordinary user"),
        {"jobs": {"bench": {"user": "alice"}}},
    ),
    Case(
        "a job of the user that the gates' tokens name",
        running({"user": "pulumi-drain"}, slurmrest={"user": "pulumi-drain"}),
        "error",
        "jobs.bench.user",
        ("pulumi-drain",),
        {"jobs": {"bench": {"user": "alice"}}},
    ),
    Case(
        "a partition that the stack doesn't make, with slurmctld in Kubernetes",
        inside({"partition": "big"}),
        "error",
        "jobs.bench.partition",
        ("big", "gpu"),
        {"jobs": {"bench": {"partition": "gpu"}}},
    ),
    Case(
        "a time limit beyond the partition's",
        inside({"partition": "gpu", "timeLimit": "2h"}, partitions={})
        | {"nodesets": {"gpu": {"replicas": 1, "partition": {"config": {"MaxTime": "01:00:00"}}}}},
        "error",
        "jobs.bench.timeLimit",
        ("120 minutes", "60"),
        {"jobs": {"bench": {"timeLimit": "1h"}}},
    ),
    Case(
        "a script that Slurm would refuse",
        running({"command": [], "script": {"text": "echo hello\n"}}),
        "error",
        "jobs.bench.script.text",
        ("#!",),
        {"jobs": {"bench": {"script": {"text": "#!/bin/sh\necho hello\n"}}}},
    ),
    Case(
        "a script with lines that slurmrestd doesn't read",
        running({"command": [], "script": {"text": "#!/bin/sh\n#SBATCH --nodes=2\nhostname\n"}}),
        "error",
        "jobs.bench.script.text",
        ("#SBATCH", "slurmrestd"),
        {"jobs": {"bench": {"script": {"text": "#!/bin/sh\nhostname\n"}}}},
    ),
    Case(
        "a secret in a job's environment",
        running({"environment": {"DB_PASSWORD": "x"}}),
        "error",
        "jobs.bench.environment.DB_PASSWORD",
        ("secret", "file"),
        {"jobs": {"bench": {"environment": {"DB_PASSWORD": ""}}}},
    ),
    Case(
        "a job on a munge cluster",
        minimal(keys={"auth": "auth/munge"}, jobs={"bench": HELLO}),
        "error",
        "jobs.bench",
        ("slurmrestd",),
        {"keys": {"auth": "auth/slurm"}},
    ),
]
JOBS += [
    Case(
        "a token of root",
        minimal(tokens={"ci": {"user": "root"}}),
        "error",
        "tokens.ci.user",
        ("root", "ordinary user"),
        {"tokens": {"ci": {"user": "alice"}}},
    ),
    Case(
        "a token that lives longer than the stack allows",
        minimal(tokens={"ci": {"user": "alice", "lifetime": "2d"}}),
        "error",
        "tokens.ci.lifetime",
        ("keys.maxTokenLifespan", "86400"),
        {"keys": {"maxTokenLifespan": "7d"}},
    ),
]
JOBS_TOLD = [
    Case(
        "a token whose renewal may stop",
        minimal(tokens={"ci": {"user": "alice"}}),
        "warning",
        "tokens.ci.refresh",
        ("240", "Delete the Secret"),
        {"tokens": {"ci": {"refresh": False}}},
    ),
    Case(
        "a user whom slurmctld in Kubernetes doesn't know",
        inside({}),
        "warning",
        "jobs.bench.user",
        ("alice", "6010"),
        {"keys": KEYS, "controller": {"external": {"host": "ctl.example.org"}}},
    ),
    Case(
        "jobs without accounting",
        running({}, accounting={"enabled": False}),
        "warning",
        "accounting.enabled",
        ("MinJobAge",),
        {"accounting": {"enabled": True, "external": {"host": "dbd.example.org"}}},
        SECRETS,
    ),
    Case(
        "a job of a user that identity.passwd lacks",
        minimal(jobs={"bench": HELLO | {"user": "dave"}}, identity={"passwd": {"users": {"carol": CAROL}}}),
        "warning",
        "jobs.bench.user",
        ("dave", "identity.passwd", "6010"),
        {"identity": {"passwd": {"users": {"dave": {"uid": 3002, "gid": 3001}}}}},
    ),
    *(
        Case(
            f"a token of a user whom slurmctld can't know, mended by {way}",
            minimal(tokens={"ci": {"user": "carol"}}),
            "warning",
            "tokens.ci.user",
            ("carol", "image", "identity.sssd"),
            {"identity": {way: given}},
        )
        for way, given in (("passwd", {"users": {"carol": CAROL}}), ("sssd", {"confFrom": {"secret": "sssd"}}))
    ),
]
CASES = JOBS
TOLD = JOBS_TOLD
