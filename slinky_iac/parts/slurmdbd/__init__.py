"""slurmdbd: its settings, and the places where it can be."""
