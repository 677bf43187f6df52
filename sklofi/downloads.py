"""Files from elsewhere: found on disk, or fetched once, checked, and moved into place."""

from __future__ import annotations

import os
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from tqdm import tqdm

DATA_VARIABLE = "SKLOFI_DATA"  # environment variable that names the folder of data sets
TIMEOUT = 30  # seconds without a byte
LARGEST_DOWNLOAD = 4 * 2**30
CHUNK = 2**18


def data_folder(data_home: str | os.PathLike[str] | None) -> Path:
    """Where data sets are: the argument, the environment variable, or a cache."""
    chosen = data_home or os.environ.get(DATA_VARIABLE) or Path.home() / ".cache" / "sklofi"
    return Path(chosen).expanduser()


def download(
    url: str, target: Path, check: Callable[[Path], object], *, show_progress: bool = True
) -> None:
    """Fetch a file, check it, and put it in place in one step.

    Nothing is left behind if it fails, and a process that looks for the file meanwhile
    sees all of it or nothing.

    Parameters
    ----------
    url : str
        Where from.

    target : Path
        Where to.

    check : callable
        Called with the path of the whole file before it is moved; raises an error if the
        file is not what it should be.

    show_progress : bool, default=True
        Whether to show a progress bar.

    Raises
    ------
    OSError
        If it cannot be fetched, in a sentence that says which file to put where.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    partial = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            try:
                _copy(url, file, target.name, show_progress)
            except OSError as error:  # URLError and time-outs are, too
                reason = getattr(error, "reason", None) or error
                raise OSError(
                    f"{target.name} could not be downloaded from {url} ({reason}). Without a"
                    f" network, put the file {target.name} into the folder {target.parent}."
                ) from error
        check(partial)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _copy(url: str, file: BinaryIO, title: str, show_progress: bool) -> None:
    with urllib.request.urlopen(url, timeout=TIMEOUT) as response:
        expected = response.headers.get("Content-Length")
        n_expected = int(expected) if expected else None
        if n_expected and n_expected > LARGEST_DOWNLOAD:
            raise OSError(f"it has {n_expected:,} bytes, more than is allowed")
        bar = tqdm(
            total=n_expected, unit="B", unit_scale=True, desc=title, disable=not show_progress
        )
        n_bytes = 0
        with bar:
            while chunk := response.read(CHUNK):
                n_bytes += len(chunk)
                if n_bytes > LARGEST_DOWNLOAD:
                    raise OSError(f"it has more than {LARGEST_DOWNLOAD:,} bytes")
                file.write(chunk)
                bar.update(len(chunk))
    if n_expected is not None and n_bytes != n_expected:
        raise OSError(f"it ended after {n_bytes:,} of {n_expected:,} bytes")
