"""The keys of a stack: what each is called where (``catalogue``), its form (``raw``, ``rsa``), files made of several keys
(``jwks``), and the keys that a configuration holds (``material``)."""
