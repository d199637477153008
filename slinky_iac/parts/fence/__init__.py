"""The fence in the API server: policies that refuse what would take pods with jobs."""
