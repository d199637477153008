"""The life of slurm.key and the JWT key: made, imported, shown, verified, and replaced under running jobs.

``model``, ``jwt``, ``slurm`` and ``scripts`` are pure: from what is seen to the step that is due, and what a host has to do
for it. ``engine``, ``hosts``, ``pods`` and ``look`` ask and act; ``rotate`` joins them, ``cli`` is the command.
"""
