"""What signs the tokens of gates and commands: the choice, and its rules. Keys themselves are in slinky_iac/keys."""
