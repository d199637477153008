"""`keys`: making, importing, showing and verifying the keys of a stack, and the words of their rotation, which
:mod:`slinky_iac.commands.rotation` carries out."""
