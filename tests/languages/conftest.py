"""The engine of the integration tier, and a real API server."""

from tests.integration.conftest import engine, tools

__all__ = ["engine", "tools"]
