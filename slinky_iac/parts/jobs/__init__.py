"""Jobs of the stack, short jobs after each update, tokens for programs: settings and rules, and the gate that submits."""
