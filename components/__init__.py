"""ComponentResources: what a hybrid Slurm cluster is made of, one public class a file.

Here is all that needs an ``Output``; what can be known without one is in ``slinky_iac``. Type tokens come from
:func:`components.tokens.token` and are part of every URN.
"""

from components.accounting import Accounting, AccountingArgs
from components.auth_keys import AuthKeys, AuthKeysArgs
from components.controller import Controller, ControllerArgs
from components.external_endpoints import ExternalEndpoints, ExternalEndpointsArgs
from components.fence import Fence, FenceArgs
from components.hybrid_cluster import HybridCluster, HybridClusterArgs
from components.login_set import LoginSet, LoginSetArgs
from components.munge_clients import MungeClients, MungeClientsArgs
from components.network_policies import NetworkPolicies, NetworkPoliciesArgs
from components.node_set import NodeSet, NodeSetArgs
from components.operator import Operator, OperatorArgs
from components.rest_api import RestApi, RestApiArgs

__all__ = [
    "Accounting",
    "AccountingArgs",
    "AuthKeys",
    "AuthKeysArgs",
    "Controller",
    "ControllerArgs",
    "ExternalEndpoints",
    "ExternalEndpointsArgs",
    "Fence",
    "FenceArgs",
    "HybridCluster",
    "HybridClusterArgs",
    "LoginSet",
    "LoginSetArgs",
    "MungeClients",
    "MungeClientsArgs",
    "NetworkPolicies",
    "NetworkPoliciesArgs",
    "NodeSet",
    "NodeSetArgs",
    "Operator",
    "OperatorArgs",
    "RestApi",
    "RestApiArgs",
]
