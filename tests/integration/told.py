"""Resources of a small program that write down when the engine calls their provider; a file ``jobs`` is a job in the way."""

from __future__ import annotations

from pathlib import Path

from tests.integration.engine import Project

PROVIDERS = """
    from pathlib import Path
    import pulumi
    from pulumi.dynamic import CreateResult, DiffResult, Resource, ResourceProvider, UpdateResult

    def told(word):
        with open("calls", "a") as file:
            file.write(word + "\\n")

    class Told(ResourceProvider):
        def diff(self, id, olds, news):
            return DiffResult(changes=olds.get("text") != news.get("text"))

        def create(self, props):
            told(f"create {props['what']} {props['text']}")
            return CreateResult(props["what"], dict(props))

        def update(self, id, olds, news):
            if news["what"] == "gate" and Path("jobs").exists():
                raise Exception("a job is in the way")
            told(f"update {news['what']} {news['text']}")
            return UpdateResult(dict(news))

        def delete(self, id, props):
            if props["what"] in {"queue", "sessions"} and Path("jobs").exists():
                raise Exception("a job is in the way")
            told(f"delete {props['what']}")

    class Thing(Resource, module="slurm", name="Thing"):
        text: pulumi.Output[str]

        def __init__(self, what, text, opts=None):
            super().__init__(Told(), what, {"what": what, "text": text}, opts)
"""
"""The module ``told`` of the program: a gate isn't updated, and neither queue nor sessions deleted, while there are jobs."""


def calls(project: Project) -> list[str]:
    """What was called since the last question."""
    path = Path(project.folder) / "calls"
    found = path.read_text().splitlines()
    path.write_text("")
    return found
