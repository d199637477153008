"""`slinky check`: is a stack's file sound? Offline: no stack, no cluster, no pulumi."""
