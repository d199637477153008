"""Tests of `slinky init`."""
