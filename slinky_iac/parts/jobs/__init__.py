"""Jobs of the stack, short jobs after each update, tokens for programs: settings and rules. Gates are in slinky_iac/jobs."""
