"""Rules for hybrid Slurm clusters that are declared with Pulumi, whatever program declares them.

Nothing in this package imports Pulumi or the program that it judges: a rule is a function from plain data to messages.
``model`` is that data, ``rule`` what a rule is, ``cluster`` and ``slurm_conf`` read Slinky's resources and Slurm's files,
``catalogue`` lists all rules, and ``adapter`` alone, which only ``__main__`` imports, knows pulumi_policy.
"""
