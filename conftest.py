"""For all tests, also those in README.md and in docstrings."""

from _pytest.doctest import DoctestItem
from joblib.externals.loky import reusable_executor


def pytest_runtest_setup(item):
    """Let documents start their own worker processes.

    Some tests leave workers behind that joblib takes for alive and waits for, for ever.
    """
    executor = reusable_executor._executor
    if isinstance(item, DoctestItem) and executor is not None:
        executor.shutdown(wait=False, kill_workers=True)
