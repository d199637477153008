"""The node table on Kubernetes nodes: labels and annotations by server-side apply, under a field manager of its own."""
