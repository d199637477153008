"""What Prometheus and Grafana are given: metrics of ours, alert rules and a dashboard. Pure."""
