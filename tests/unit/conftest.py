"""Hypothesis as all unit tests have it: an example may take what it takes, since how busy the machine is proves nothing."""

from hypothesis import settings

settings.register_profile("slinky", deadline=None)
settings.load_profile("slinky")
