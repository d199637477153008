"""ComponentResources: what a hybrid Slurm cluster is made of, one public class a file.

Here is all that needs an ``Output``; what can be known without one is in ``slinky_iac``. Type tokens come from
:func:`.resources.token` and are part of every URN.
"""

from .accounting import Accounting, AccountingArgs
from .auth_keys import AuthKeys, AuthKeysArgs
from .client import Client, ClientArgs
from .connection import kubernetes_provider
from .controller import Controller, ControllerArgs
from .external_endpoints import ExternalEndpoints, ExternalEndpointsArgs
from .hybrid_cluster import HybridCluster, HybridClusterArgs
from .login_set import LoginSet, LoginSetArgs
from .munge_clients import MungeClients, MungeClientsArgs
from .network_policies import NetworkPolicies, NetworkPoliciesArgs
from .node_set import NodeSet, NodeSetArgs
from .operator import Operator, OperatorArgs
from .part_gates import PartGates, PartGatesArgs
from .part_objects import PartObjects, PartObjectsArgs
from .rest_api import RestApi, RestApiArgs

__all__ = [
    "Accounting",
    "AccountingArgs",
    "AuthKeys",
    "AuthKeysArgs",
    "Client",
    "ClientArgs",
    "Controller",
    "ControllerArgs",
    "ExternalEndpoints",
    "ExternalEndpointsArgs",
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
    "PartGates",
    "PartGatesArgs",
    "PartObjects",
    "PartObjectsArgs",
    "RestApi",
    "RestApiArgs",
    "kubernetes_provider",
]
