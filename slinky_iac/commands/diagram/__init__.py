"""`slinky diagram`: a stack's hybrid cluster as a picture. :mod:`.build` says what is there, :mod:`.layout`
where it stands, :mod:`.svg` and :mod:`.mermaid` draw it. Keys by name, never a value; no cluster is asked."""
