"""`slinky preflight`: ask, judge, print. The checks themselves are in slinky_iac.preflight: previews run them too."""
