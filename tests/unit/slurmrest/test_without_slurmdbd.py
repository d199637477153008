"""GET partitions/ while slurmdbd is down: slurmrestd 25.11 and 26.05 answer HTTP 500 with the whole list (run, 26.05.5).

The list is slurmctld's. slurmrestd asked slurmdbd for the names of TRES only, which no field of a partition needs
(``_slurmdb_query_failed`` in data_parser's slurmdb_helpers.c goes on with none).
"""

from __future__ import annotations

import httpx
import pytest

from slinky_iac.errors import SlurmrestError, SlurmrestGarbage
from tests.made.rows import NOW, Json, number
from tests.unit.slurmrest.fake import FakeSlurm, answer

PARTITIONS = [{"name": name, "partition": {"state": ["UP"]}, "node_sets": name} for name in ("gpu", "cpu")]


def refused(**more: object) -> Json:
    """The error as slurmrestd 26.05.5 has it."""
    return {
        "description": "Slurmdb query failed",
        "error_number": 111,
        "error": "Connection refused",
        "source": "slurmdb_tres_get",
    } | more


def asked(body: httpx.Response) -> tuple[str, ...]:
    slurm = FakeSlurm()
    slurm.client().version()
    slurm.serve = lambda request, rest, _: body if rest == "partitions/" else answer()  # type: ignore[method-assign]
    return tuple(each.name for each in slurm.client().partitions())


@pytest.mark.parametrize("error_number", [110, 111, 113, 7000], ids=["times-out", "refused", "no-route", "no-connection"])
def test_partitions_are_read_while_slurmdbd_is_down(error_number: int) -> None:
    down = answer(500, [refused(error_number=error_number)], partitions=PARTITIONS, last_update=number(NOW))
    assert asked(down) == ("gpu", "cpu")


@pytest.mark.parametrize(
    ("errors", "data", "code"),
    [
        ([refused()], {"partitions": [], "last_update": number(NOW)}, 500),
        ([refused()], {"last_update": number(NOW)}, 500),
        ([refused()], {"partitions": PARTITIONS}, 500),
        ([refused()], {"partitions": PARTITIONS, "last_update": number(None)}, 500),
        ([refused()], {"partitions": [*PARTITIONS, {}], "last_update": number(NOW)}, 500),
        ([refused(source="slurm_load_partitions")], {"partitions": PARTITIONS, "last_update": number(NOW)}, 500),
        ([refused(description="")], {"partitions": PARTITIONS, "last_update": number(NOW)}, 500),
        ([refused(error_number=1007)], {"partitions": PARTITIONS, "last_update": number(NOW)}, 500),
        ([refused(error_number=2002)], {"partitions": PARTITIONS, "last_update": number(NOW)}, 500),
        ([refused(), refused(source="")], {"partitions": PARTITIONS, "last_update": number(NOW)}, 500),
        ([refused(), refused(error_number=1800)], {"partitions": PARTITIONS, "last_update": number(NOW)}, 500),
        ([], {"partitions": PARTITIONS, "last_update": number(NOW)}, 500),
        ([refused()], {"partitions": PARTITIONS, "last_update": number(NOW)}, 200),
        ([refused()], {"partitions": PARTITIONS, "last_update": number(NOW)}, 502),
    ],
    ids=[
        "no-partition",
        "no-list",
        "no-time",
        "slurmctld-did-not-answer",
        "a-row-without-a-name",
        "another-source",
        "another-error",
        "refused-token",
        "refused-user",
        "a-second-error",
        "slurmctld-down",
        "no-error",
        "status-200",
        "status-502",
    ],
)
def test_partitions_beside_any_other_error_are_not_believed(errors: list[Json], data: Json, code: int) -> None:
    with pytest.raises(SlurmrestError):
        asked(answer(code, errors, **data))


def test_a_list_that_ends_early_is_not_believed() -> None:
    whole = answer(500, [refused()], partitions=PARTITIONS, last_update=number(NOW))
    with pytest.raises(SlurmrestGarbage):
        asked(httpx.Response(500, content=whole.content[:-40]))
