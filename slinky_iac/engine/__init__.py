"""What all dynamic providers have in common: the process that they run in, and what the engine hands them."""
