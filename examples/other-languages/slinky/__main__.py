"""What the engine runs where a program asks for a cluster."""

from slinky_iac.components.package import serve

serve()
