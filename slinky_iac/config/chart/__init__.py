"""Slinky's Helm chart in words of this program: what each key of its values becomes here, by release."""
