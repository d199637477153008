"""All rules, in the order in which they are documented and run."""

from __future__ import annotations

from slurm_rules import beside, clear_text, client_keys, closed, compute, gates, images, keys, partitions, storage, tokens
from slurm_rules.rule import Rule

RULES: tuple[Rule, ...] = (
    closed.cluster_as_made,
    beside.cluster_complete,
    gates.drain_within_bounds,
    keys.keys_differ,
    keys.key_source,
    keys.key_age,
    clear_text.no_secrets_in_clear,
    clear_text.no_secrets_in_outputs,
    clear_text.keys_not_in_clear,
    client_keys.client_keys_in_sidecar,
    tokens.token_lifetimes,
    tokens.tokens_for_users,
    compute.requests_equal_limits,
    compute.whole_cpus,
    compute.exclusive_without_cgroups,
    gates.update_strategy_bounds,
    partitions.max_node_count,
    partitions.partition_references,
    images.versions_agree,
    storage.accounting_database_durable,
)
