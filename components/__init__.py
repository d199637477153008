"""ComponentResources: what a hybrid Slurm cluster is made of, one public class a file.

Here is all that needs an ``Output``; what can be known without one is in ``slinky_iac``. Type tokens come from
:func:`.resources.token` and are part of every URN.
"""

from .accounting import Accounting as Accounting
from .accounting import AccountingArgs as AccountingArgs
from .auth_keys import AuthKeys as AuthKeys
from .auth_keys import AuthKeysArgs as AuthKeysArgs
from .client import Client as Client
from .client import ClientArgs as ClientArgs
from .controller import Controller as Controller
from .controller import ControllerArgs as ControllerArgs
from .external_endpoints import ExternalEndpoints as ExternalEndpoints
from .external_endpoints import ExternalEndpointsArgs as ExternalEndpointsArgs
from .fence import Fence as Fence
from .fence import FenceArgs as FenceArgs
from .hybrid_cluster import HybridCluster as HybridCluster
from .hybrid_cluster import HybridClusterArgs as HybridClusterArgs
from .login_set import LoginSet as LoginSet
from .login_set import LoginSetArgs as LoginSetArgs
from .monitoring import Monitoring as Monitoring
from .monitoring import MonitoringArgs as MonitoringArgs
from .munge_clients import MungeClients as MungeClients
from .munge_clients import MungeClientsArgs as MungeClientsArgs
from .network_policies import NetworkPolicies as NetworkPolicies
from .network_policies import NetworkPoliciesArgs as NetworkPoliciesArgs
from .node_set import NodeSet as NodeSet
from .node_set import NodeSetArgs as NodeSetArgs
from .node_table import NodeTable as NodeTable
from .node_table import NodeTableArgs as NodeTableArgs
from .operator import Operator as Operator
from .operator import OperatorArgs as OperatorArgs
from .rest_api import RestApi as RestApi
from .rest_api import RestApiArgs as RestApiArgs
