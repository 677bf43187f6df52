"""Files from elsewhere: found on disk, or fetched once, checked, and moved into place."""

from __future__ import annotations

import http.client
import io
import os
import socket
import ssl
import tempfile
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from urllib.error import HTTPError

from tqdm import tqdm

DATA_VARIABLE = "SKLOFI_DATA"  # environment variable that names the folder of data sets


TIMEOUT = 30  # seconds without a byte


LONGEST_DOWNLOAD = 60 * 60  # seconds, with all its tries


LARGEST_DOWNLOAD = 4 * 2**30  # bytes


N_TRIES = 3


PAUSE = 1  # seconds before the second try; twice as many before the next


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
    sees all of it or nothing. What may pass, such as a lost connection or a busy server, is
    tried up to three times. Together the tries take at most an hour; a server that sends
    nothing for 30 seconds has failed.

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
    ValueError
        If what was fetched does not pass the check.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    unchecked = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            try:
                _try_to_copy(url, file, target.name, show_progress)
            # http.client raises ValueErrors, too, for sizes of chunks that are none.
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise OSError(
                    f"{target.name} could not be downloaded from {url} ({_reason(error)}). Without"
                    f" a network, put the file {target.name} into the folder {target.parent}."
                ) from error
        try:
            check(unchecked)
        except ValueError as error:
            raise ValueError(
                f"{target.name} as downloaded from {url} cannot be used and was not kept: {error}"
            ) from error
        os.replace(unchecked, target)
    finally:
        unchecked.unlink(missing_ok=True)


def _try_to_copy(url: str, file: BinaryIO, title: str, show_progress: bool) -> None:
    deadline = time.monotonic() + LONGEST_DOWNLOAD
    for n_tries in range(1, N_TRIES + 1):
        file.seek(0)
        file.truncate()
        try:
            return _copy(url, file, title, show_progress, deadline)
        except (OSError, http.client.HTTPException) as error:
            pause = PAUSE * 2 ** (n_tries - 1)
            is_late = time.monotonic() + pause >= deadline
            if n_tries == N_TRIES or is_late or not _may_pass(error):
                raise
            time.sleep(pause)


def _may_pass(error: Exception) -> bool:
    """Whether a second try may succeed."""
    if isinstance(error, HTTPError):
        return error.code in (408, 425, 429) or error.code >= 500
    cause = getattr(error, "reason", error)  # which URLError wraps
    if isinstance(cause, socket.gaierror):
        return cause.errno == socket.EAI_AGAIN
    if isinstance(cause, ssl.SSLError):
        return not isinstance(cause, ssl.SSLCertVerificationError)
    return isinstance(cause, ConnectionError | TimeoutError | http.client.HTTPException)


def _reason(error: Exception) -> str:
    """What happened, in a few printable words: some of them are the server's."""
    if isinstance(error, HTTPError):
        text = f"{error.code} {error.reason}"
    elif isinstance(error, OSError):
        text = str(getattr(error, "reason", None) or error)
    elif isinstance(error, http.client.IncompleteRead):
        text = "it ended in the middle"
    else:
        text = f"the server's reply is not valid HTTP: {error}"
    text = "".join(character if character.isprintable() else "?" for character in text)
    return text if len(text) <= 200 else text[:200] + "..."


def _copy(url: str, file: BinaryIO, title: str, show_progress: bool, deadline: float) -> None:
    opener = urllib.request.build_opener(_HTTPHandler(deadline), _HTTPSHandler(deadline))
    with opener.open(url, timeout=TIMEOUT) as response:
        n_expected = _content_length(response.headers.get("Content-Length"))
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
        raise ConnectionError(f"it ended after {n_bytes:,} of {n_expected:,} bytes")


def _content_length(header: str | None) -> int | None:
    if header is None:
        return None
    if not (header.isascii() and header.isdecimal()):
        raise OSError(f"the server gives its size as {header!r}")
    if len(header) > 18 or int(header) > LARGEST_DOWNLOAD:
        raise OSError(f"it has {header} bytes, more than the {LARGEST_DOWNLOAD:,} allowed")
    return int(header)


class _TimedStream(io.RawIOBase):
    """The bytes of a connection, until the deadline.

    The time-out of a socket starts anew with each byte, so it does not end a reply that
    comes byte by byte, in its head or in its body.
    """

    def __init__(self, stream: Any, sock: Any, deadline: float) -> None:
        self.stream, self.sock, self.deadline = stream, sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        try:
            self.sock.settimeout(min(TIMEOUT, self.n_seconds_left()))
            n_bytes: int | None = self.stream.readinto(buffer)
        except TimeoutError:
            self.n_seconds_left()  # if that is why
            raise
        return n_bytes

    def n_seconds_left(self) -> float:
        n_seconds = self.deadline - time.monotonic()
        if n_seconds <= 0:
            raise TimeoutError(f"it took more than {LONGEST_DOWNLOAD:,} seconds")
        return n_seconds

    def close(self) -> None:
        self.stream.close()
        super().close()


class _TimedResponse(http.client.HTTPResponse):
    def __init__(self, sock: Any, *args: Any, deadline: float, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_TimedStream(self.fp.detach(), sock, deadline))


class _TimedHandler(urllib.request.AbstractHTTPHandler):
    def __init__(self, deadline: float) -> None:
        super().__init__()
        self.deadline = deadline

    def do_open(self, http_class: Any, req: Any, **http_conn_args: Any) -> Any:
        def connection(*args: Any, **kwargs: Any) -> Any:
            made = http_class(*args, **kwargs)
            made.response_class = partial(_TimedResponse, deadline=self.deadline)
            return made

        return super().do_open(connection, req, **http_conn_args)


class _HTTPHandler(_TimedHandler, urllib.request.HTTPHandler):
    pass


class _HTTPSHandler(_TimedHandler, urllib.request.HTTPSHandler):
    pass
