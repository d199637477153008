"""What an outside slurm.conf must hold, as it is rendered for its admin."""

from __future__ import annotations

from collections.abc import Iterator

from slurm_rules.cluster import OUTSIDE_CONF_OUTPUT, belonging_to, is_external, slurm_conf, slurm_name
from slurm_rules.model import Resource, Stack
from slurm_rules.rule import Options, rule, slinky
from slurm_rules.slurm_conf import lines, settings

_WORDS = {
    "authtype": ("AuthType", "auth/slurm"),
    "credtype": ("CredType", "cred/slurm"),
    "authalttypes": ("AuthAltTypes", "auth/jwt"),
    "authinfo": ("AuthInfo", "use_client_ids"),
    "slurmctldparameters": ("SlurmctldParameters", "enable_configless"),
}


@rule("outside-configuration", slinky("Controller"))
def outside_configuration(controller: Resource, stack: Stack, _: Options) -> Iterator[str]:
    """For an outside slurmctld the stack renders slurm.conf lines with all that Slinky requires.

    Why: the operator writes nothing into an outside slurm.conf. Without configless no pod gets a configuration, without
    auth/slurm and auth/jwt none is let in, without use_client_ids login pods know no users, and without NodeSet= lines and
    MaxNodeCount the nodes belong to no partition or are refused.

    Source: Slinky hybrid guide, "Slurm": configless, auth/slurm, auth/jwt, use_client_ids; slurm.conf(5);
    slurm-operator controller_config.go (what it leaves out for an external Controller).

    Do: export what slinky_iac/specs/slurm_conf.py renders as the stack output outsideSlurmConf, unchanged.

    Level: mandatory, since no node of the cluster comes up.
    """
    if not is_external(controller):
        return
    conf = slurm_conf(controller, stack)
    if conf is None:
        yield f"{controller.label} is outside and no stack output {OUTSIDE_CONF_OUTPUT} says what its slurm.conf must hold"
        return
    found = settings(conf)
    for key, (name, word) in _WORDS.items():
        if word not in found.get(key, "").split(","):
            yield f"{OUTSIDE_CONF_OUTPUT}: {name} lacks {word}"
    if not any(item.startswith("jwt_key=") for item in found.get("authaltparameters", "").split(",")):
        yield f"{OUTSIDE_CONF_OUTPUT}: AuthAltParameters lacks jwt_key=, so no token is accepted"
    if not found.get("maxnodecount", "").isdigit():
        yield f"{OUTSIDE_CONF_OUTPUT}: MaxNodeCount is missing; without it slurmctld takes no dynamic node"
    features = {(line.value, line.get("feature")) for line in lines(conf) if line.first == "nodeset"}
    for nodeset in belonging_to(controller, stack, "NodeSet"):
        name = slurm_name(nodeset)
        if (name, name) not in features:
            yield f"{OUTSIDE_CONF_OUTPUT}: NodeSet={name} Feature={name} is missing, so no partition can hold its nodes"
