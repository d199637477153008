"""`slinky preflight`: ask, judge, print. The checks themselves stand in slinky_iac.preflight: previews run them too."""
