"""The keys of a stack: what each is called where (``catalogue``), its form and its file of several (``raw``; ``rsa`` and
``public``, with ``provider``'s keys), and the keys that a configuration holds (``material``)."""
