"""Rules that judge a whole stack before anything is made: each is a generator of findings."""
