"""The change order: what a reviewer needs to know of a `pulumi preview --json` before saying yes.

Pure but for ``cli``: ``wire`` reads the JSON, ``build`` and ``drains`` decide what it means, ``limits`` judges, the
renderers only show.
"""
