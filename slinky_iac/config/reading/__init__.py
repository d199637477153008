"""From a stack's file or the engine's configuration to one checked value, and what to say where that fails."""
