"""Clusters with auth/munge, of which the stack makes clients only: their settings, rules and pods."""
