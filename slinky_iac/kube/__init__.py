"""The few Kubernetes calls a drain needs, on httpx: kubeconfig, pods and their annotations, NodeSets, scalers.

Nothing is imported here: the plugin process pays only for the modules it uses. Begin with
:class:`slinky_iac.kube.client.KubeClient`; :mod:`slinky_iac.kube.objects` has pods and NodeSets, and
:mod:`slinky_iac.kube.connection` is shared with ``slinky_iac.slurmrest``, which can go through the API server's service
proxy.
"""
