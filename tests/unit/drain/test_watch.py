"""`drain watch`: a screen for a second terminal."""

import re

from slinky_iac.commands.drain import DrainView, screen, view
from slinky_iac.commands.output import over
from slinky_iac.drain.observe import shown
from slinky_iac.drain.settings import DrainPolicy
from tests.unit.drain.made import NOW, OURS, given_up, held, job, node, pod, seen
from tests.unit.drain.model_session import settings


def looked(*jobs, nodes=None, pods=None):
    made = nodes or [node(0), held(1, reason_changed_at=NOW - 480), held(2, "MIXED+DRAIN", reason_changed_at=NOW - 300)]
    return view(settings(1), seen(pods or [pod(0), given_up(1), given_up(2)], made, jobs))


def drawn(*views, colour=False, width=100):
    return screen("dev", views, NOW, colour=colour, width=width, leave=True)


def test_a_drain_shows_its_bar_its_jobs_and_until_when():
    text = drawn(looked(job(41, 2, end=NOW + 720, user_name="alice"), job(40, 2, end=NOW + 60, user_name="bob")))
    assert "gpu: [############............] 1 of 2 nodes are free; 3 pods of 3 asked for" in text
    assert "[############....] drained 8 min ago; deadline 08:02 (in 2 min) of a run that began then\n" in text
    assert "2 jobs; the last is 41 of alice, by 08:12 (in 12 min), after the deadline\n" in text
    assert re.search(r"41 +alice .*08:12 \(in 12 min\) +after the deadline\n", text)
    assert re.search(r"40 +bob .*08:01 \(in 1 min\)\n", text)
    assert re.search(r"gpu-2 +MIXED\+DRAIN|gpu-2 +DRAIN\+MIXED", text)
    assert re.search(r"40 +bob +08:01 \(in 1 min\)", text)
    assert re.search(r"gpu-1 +\S+ +free", text)
    assert OURS in text


def test_a_node_that_the_gate_waits_for_since_a_job_elsewhere_names_it_is_not_shown_as_free():
    named = job(41, 0, required=["gpu-0", "gpu-2"])
    shown_as = {each.node: each for each in looked(named, nodes=[node(0), held(1), held(2)]).nodes}
    assert shown_as["gpu-1"].free
    assert not shown_as["gpu-2"].free
    assert "named by --nodelist of 1 job (41 of alice)" in shown_as["gpu-2"].why


def test_a_drain_of_somebody_else_is_no_drain_of_this_stack():
    others = [node(0), node(1, "IDLE+DRAIN", "fan is broken"), node(2)]
    found = looked(nodes=others, pods=[pod(0), pod(1), pod(2)])
    assert found.nodes == ()
    assert "nothing of this stack's is drained or marked" in drawn(found)


def test_a_hidden_user_is_hidden_here_too():
    hidden = shown(job(41, 2), DrainPolicy(show_users=False).hide_by("dev"))
    text = drawn(looked(hidden))
    assert "41 of user-" in text
    assert "alice" not in text


def test_what_cannot_be_asked_is_said_and_not_shown_as_free():
    blind = seen([pod(0), given_up(1)], [], cluster=None, problem="connection refused")
    text = drawn(view(settings(1), blind))
    assert "gpu: not known: connection refused" in text
    assert "0 of 1 nodes are free" in text
    assert "not known: no route" in drawn(DrainView("gpu", 0, None, (), None, "", 60, problem="no route"))


def test_no_line_is_wider_than_the_terminal_and_no_name_controls_it():
    evil = job(41, 2, user_name="a\x1b[2Jb" + "x" * 300, partition="p" * 300)
    text = drawn(looked(evil), width=80)
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_a_screen_is_written_over_the_one_before_and_never_scrolls():
    text = over("one\ntwo\nthree\n", 24)
    assert text == "\x1b[Hone\x1b[K\ntwo\x1b[K\nthree\x1b[K\n\x1b[J"
    small = over("\n".join(map(str, range(50))), 10)
    assert small.count("\n") == 9
    assert "… 42 more lines: make the window higher" in small
