"""The command line: ``sklofi compare``, ``sklofi fit`` and ``sklofi predict``."""

from sklofi._command._main import main as main

__all__: list[str] = []  # nothing that is imported by users
