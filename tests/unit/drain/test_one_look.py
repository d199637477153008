"""The one look of a preview for all NodeSets: what each plan takes from it."""

import pytest

from slinky_iac.drain import one_look
from slinky_iac.drain.one_look import observed, taken
from slinky_iac.errors import KubeError, KubeForbidden
from slinky_iac.kube.client import WORKERS
from tests.made import rows
from tests.made.kubernetes import meta
from tests.made.wire import read
from tests.unit.drain.made import nodeset, pod
from tests.unit.drain.model_session import REACH, settings
from tests.unit.slurmrest import fake


class Kube:
    """All pods and autoscalers of a namespace."""

    def __init__(self, serving=1, forbidden=False):
        self.serving, self.forbidden = serving, forbidden

    def worker_pods(self, _namespace):
        return (pod(0),)

    def listed(self, _path, _model, _what):
        if self.forbidden:
            raise KubeForbidden("no list", status=403)
        return ()

    def deployment_available(self, *_):
        return self.serving


def looked(kube, *jobs, reserved=()):
    slurm = fake.FakeSlurm().add(rows.node("gpu-0"), *jobs)
    serve = slurm.serve

    def with_reservations(request, rest, body):
        if rest == "reservations/":
            listed = [{"name": each, "node_list": "gpu-0", "start_time": rows.number(1), "end_time": rows.number(None)}
                      for each in reserved]  # fmt: skip
            return fake.answer(reservations=listed, last_update=rows.number(1))
        return serve(request, rest, body)

    slurm.serve = with_reservations
    with slurm.client() as client:
        return taken(kube, lambda: client, REACH, lambda: 1.0)


@pytest.mark.parametrize(("serving", "ready"), [(0, False), (1, True)])
def test_whether_the_operator_sees_slurm_is_what_was_answered(serving, ready):
    assert looked(Kube(serving)).restapi_ready is ready


def test_jobs_that_wait_are_in_a_plan():
    assert [job.job_id for job in looked(Kube(), rows.job(5, "PENDING")).answers.jobs.jobs] == [5]


def test_autoscalers_that_can_t_be_seen_are_no_empty_list():
    found = looked(Kube(forbidden=True))
    with pytest.raises(KubeForbidden):
        found.writers_of(settings(1))
    assert found.writers_of(settings(1, scaler="autoscaler")) == ()


def test_without_users_names_all_else_of_a_view_is_the_same():
    found = looked(Kube(), rows.job(4, nodes="gpu-0"), reserved=("maintenance",))
    left_out = one_look.OneLook(found.answered, found.pods, (), found.answers, "", restapi_ready=True)
    plain, hidden = left_out.view(""), left_out.view("slinky-iac/dev")
    assert [each.name for each in hidden.reservations] == ["maintenance"]
    assert (hidden.name, hidden.queue_left_out, set(hidden.nodes)) == (plain.name, plain.queue_left_out, set(plain.nodes))
    assert "alice" in repr(plain)
    assert "alice" not in repr(hidden)


def test_jobs_that_were_left_out_are_left_out_without_users_names_too():
    jobs = [rows.job(each, "PENDING") for each in range(1, 4)]
    found = looked(Kube(), *jobs)
    view = found.answers.view
    known = type(view)(**{**{name: getattr(view, name) for name in view.__dataclass_fields__}, "queue_left_out": 7})
    answers = type(found.answers)(found.answers.nodes, found.answers.jobs, known, {}, 0.0, whole=True)
    hidden = one_look.OneLook(0.0, (), (), answers, "", restapi_ready=True).view("slinky-iac/dev")
    assert hidden.queue_left_out == 7


class Asks:
    """A session of a plan."""

    def __init__(self, client):
        self.kube, self.slurm = Kube(), client

    def now(self):
        return rows.NOW

    def steady(self):
        return 1.0


def test_a_nodeset_whose_pods_have_other_labels_is_not_planned_from_the_list_of_workers():
    state = read(type(nodeset(1)), {
        "metadata": meta("hpc-worker-gpu"), "spec": {}, "status": {"selector": "app=mine"}
    })  # fmt: skip
    slurm = fake.FakeSlurm().add(rows.node("gpu-0"))
    with slurm.client() as client, pytest.raises(KubeError, match=f"selects 'app=mine' and not {WORKERS}"):
        observed(Asks(client), settings(1), state)
