"""Monitoring in whole programs."""

from __future__ import annotations

SECTIONS = {"monitoring": {"rules": True, "dashboard": True}}
OF_A_LOOK = [({"monitoring": {"rules": True}}, "monitoring-without-prometheus-operator")]
