"""Monitoring in whole programs."""

from __future__ import annotations

SECTIONS = {"monitoring": {"rules": True, "dashboard": True}}
GIVEN = {
    "monitoring": {
        "rules": True,
        "dashboard": True,
        "labels": {"release": "prometheus"},
        "dashboardLabels": {"grafana": "yes"},
        "status": {
            "image": "r.example.org/slinky:1",
            "serviceAccount": "status",
            "folder": "/var/lib/node",
            "nodeSelector": {"pool": "hpc"},
        },
    }
}
GIVEN_OUTSIDE = {"monitoring": {"slurmctld": True, "slurmctldAddress": "10.0.0.5"}}
OF_A_LOOK = [({"monitoring": {"rules": True}}, "monitoring-without-prometheus-operator")]
