"""What a stack is, as values that are made from its settings alone; everything that shows or makes it is a projection."""
