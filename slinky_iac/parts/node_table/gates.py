"""The dynamic provider of the node table.

Wire format: this module's path, the class name and the props' names are in users' state files. Instances have no
attributes; see :mod:`slinky_iac.drain.gates` for why the methods import what they work with.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

from pulumi.dynamic import CheckFailure, CheckResult, CreateResult, ReadResult, UpdateResult

from slinky_iac.engine.plugin_process import prepare
from slinky_iac.engine.provider import Gate, Props, outputs


class NodeTableProvider(Gate):
    """Labels and annotations of Kubernetes nodes: this stack's, under its own field manager, and nothing of others."""

    def planned(self, olds: Props, news: Props) -> CheckResult:
        """Add which nodes the rows mean now, and what each gets. A value of another manager fails here, in preview."""
        from slinky_iac.parts.node_table import run
        from slinky_iac.parts.node_table.plan import TableSettings

        try:
            settings = TableSettings.from_props(news)
        except ValueError as fault:
            return CheckResult(news, [CheckFailure("schema", str(fault))])
        props, failures = run.preview(settings, olds)
        return CheckResult({**news, **props}, [CheckFailure("rows", text) for text in failures])

    def create(self, props: Props) -> CreateResult:
        """Write. Where it fails half way the resource is in the state all the same: only it takes back what is written."""
        from slinky_iac.engine.plugin_process import keep_made

        identity = f"{props['stack']}/nodes"
        try:
            return CreateResult(identity, _written(props))
        except Exception:
            keep_made(identity, outputs(props), props)
            raise

    def update(self, _id: str, _olds: Props, _news: Props) -> UpdateResult:
        """Write what the rows say now, and take the rest back."""
        return UpdateResult(_written(_news))

    def read(self, id_: str, props: Props) -> ReadResult:
        """The state, with the values that the nodes have now."""
        from slinky_iac.parts.node_table import run
        from slinky_iac.parts.node_table.plan import TableSettings

        prepare()
        own = outputs(props)
        return ReadResult(id_, {**own, **run.look(TableSettings.from_props(props), own.get("nodes") or {})})

    def delete(self, _id: str, _props: Props) -> None:
        """Take back what this stack has set on any node; no program runs now, so all comes from the state."""
        from slinky_iac.parts.node_table import run
        from slinky_iac.parts.node_table.plan import TableSettings

        prepare()
        run.take_back(TableSettings.from_props(_props))


def _written(props: Props) -> Props:
    from slinky_iac.parts.node_table import run
    from slinky_iac.parts.node_table.plan import TableSettings

    prepare()
    return {**outputs(props), **run.write(TableSettings.from_props(props))}
