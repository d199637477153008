"""Jobs of the stack as a part. components/slurm_job.py registers the gates that submit them."""

from __future__ import annotations

from collections.abc import Iterator

from slinky_iac import names
from slinky_iac.config.stack import StackConfig
from slinky_iac.parts.jobs.objects import token
from slinky_iac.parts.jobs.rules import OF_DAEMONS
from slinky_iac.parts.part import Part
from slinky_iac.specs.objects import Object


class Jobs(Part):
    """Gates make the jobs; all of it needs slurmrestd."""

    name = "jobs"
    daemon_rules = OF_DAEMONS

    def behind(self, config: StackConfig, daemon: names.Part) -> Iterator[Object]:
        """Tokens of slurmrestd."""
        return (token(config, name) for name in config.tokens if daemon == "slurmrestd")

    def written_secrets(self, config: StackConfig) -> Iterator[tuple[str, str | None]]:
        """Those with tokens."""
        base = config.cluster.resource_name
        return (
            (f"tokens.{name}.secret", each.secret or names.user_token_secret(base, name))
            for name, each in config.tokens.items()
        )
