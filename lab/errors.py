"""The one exception of the lab."""


class LabError(Exception):
    """The lab can't go on. The message says what was tried, what was seen, and what to do next."""
