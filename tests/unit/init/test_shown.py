"""What stands at any place of a host's answer and looks like a secret is in no message of `slinky init`, and in the file
only as that place's own setting."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slinky_iac.commands.check import judge
from slinky_iac.commands.init.stack import document, hints, read, require_fit, require_sound, sections, unguarded, warnings
from slinky_iac.errors import HostlistError, SlinkyError
from slinky_iac.hostlist import compress, expand
from tests.unit.init.made import CONFIG, answer, wanted

KEY = "0V9hbCBrZXkgb2YgNDIgYnl0ZXMgaXMgaGVyZSBhbmQgbm93aGVyZSBlbHNl"
PASSWORD = "hunter2-S3cret!with&more"
SHOWN = 13
"""Characters of a secret that no message has."""
MORE = (
    *(
        "Prolog = /opt/x.sh",
        "Epilog = /opt/x.sh",
        "PrologFlags = Contain",
        "TopologyPlugin = topology/tree",
        "SlurmdPort = 6818",
    ),
    *("AccountingStoragePass = x", "GresTypes = gpu", "JobSubmitPlugins = lua", "SchedulerParameters = bf_continue"),
    *("AccountingStorageExternalHost = other", "MCSParameters = x", "CommunicationParameters = x", "SlurmdParameters = x"),
)


def told(text: str) -> Iterator[str]:
    """Messages about an answer, each as a person sees it."""
    try:
        found = read(text)
        require_fit(found, wanted())
        settings = sections(found, wanted())
        policies = unguarded(settings, found)
        whole = document(settings, "ctl", {}, policies, nodes=None)
        yield from warnings(found, settings)
        yield from hints(found, settings)
        require_sound(tuple(place.finding for place in judge(whole)[1]))
    except SlinkyError as error:
        yield str(error)


def answers(marker: str) -> Iterator[tuple[str, str]]:
    """Every line of the answer with the marker as its value, as its name, and as the whole line."""
    for more in ("", *MORE):
        lines = answer(CONFIG.replace("AuthType ", f"{more}\nAuthType " if more else "AuthType ")).splitlines()
        for number, line in enumerate(lines):
            if more and line != more:
                continue
            name, equals, value = line.partition("=")
            changed = [marker, *([f"{name}= {marker}", f"{marker} ={value}"] if equals else [])]
            for each in changed:
                yield line, "\n".join([*lines[:number], each, *lines[number + 1 :]])


@pytest.mark.parametrize("marker", [KEY, PASSWORD])
def test_no_line_of_an_answer_is_shown_where_it_looks_like_a_secret(marker: str) -> None:
    parts = [marker[at : at + SHOWN] for at in range(len(marker) - SHOWN + 1)]
    shows = [
        (line, message) for line, text in answers(marker) for message in told(text) if any(part in message for part in parts)
    ]
    assert shows == []


@pytest.mark.parametrize("marker", [KEY, PASSWORD])
@pytest.mark.parametrize("form", ["{}[", "[{}]", "a[1-{}]", "{} b", "{},", "a,,{}", "{}[1-99999999]", "a[{}-1]"])
def test_what_is_no_hostlist_is_not_shown(marker: str, form: str) -> None:
    with pytest.raises(HostlistError) as error:
        expand(form.format(marker))
    parts = [marker[at : at + SHOWN] for at in range(len(marker) - SHOWN + 1)]
    assert not any(part in str(error.value) for part in parts)


@pytest.mark.parametrize("marker", [KEY, PASSWORD])
def test_what_is_no_host_s_name_is_not_shown(marker: str) -> None:
    with pytest.raises(HostlistError) as error:
        compress([f"{marker} x"])
    assert marker[:SHOWN] not in str(error.value)
