"""Tests of `slinky check`."""
