"""The Kubernetes half of the lab: a control plane on this machine and three nodes in namespaces of their own."""
