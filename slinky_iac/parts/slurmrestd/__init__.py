"""slurmrestd in Kubernetes: its settings, with and without TLS before it, and what TLS needs. Pure."""
