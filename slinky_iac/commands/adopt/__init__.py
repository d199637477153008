"""`slinky adopt`: what lies between a living release of Slinky's chart and a stack that is to take it over."""
