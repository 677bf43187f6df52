"""The command line as ``python -m sklofi``."""

from sklofi._command._main import main

if __name__ == "__main__":
    raise SystemExit(main())
