"""slurmctld: its settings, and the two places where it can be."""
