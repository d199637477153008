"""Autoscalers of NodeSets: their settings, rules and objects."""
