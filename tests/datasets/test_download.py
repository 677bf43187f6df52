"""Downloads, from a server on this machine."""

import http.server
import re
import threading
import time
import urllib.request
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from sklofi.datasets import _download as downloads
from sklofi.datasets._download import data_folder, download

CONTENT = b"x" * 1000
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

# What servers that are broken, busy or hostile answer, and what users read of it.
BAD_REPLIES = {
    "missing": (b"HTTP/1.1 404 Not Found\r\n\r\n", "404 Not Found"),
    "gone": (b"HTTP/1.1 410 Gone\r\n\r\n", "410 Gone"),
    "busy": (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", "503 Service Unavailable"),
    "too-many": (b"HTTP/1.1 429 Too Many Requests\r\n\r\n", "429 Too Many Requests"),
    "terminal": (b"HTTP/1.1 404 \x1b[31mred\x07\r\n\r\n", r"404 \?\[31mred"),
    "endless-reason": (b"HTTP/1.1 404 " + b"a" * 5000 + b"\r\n\r\n", r"404 a{196}\.\.\."),
    "nothing": (b"", "closed connection without response"),
    "no-http": (b"SSH-2.0-OpenSSH_9.6\r\n", "reply is not valid HTTP: SSH-2.0-OpenSSH_9.6"),
    "bad-status": (b"HTTP/1.1 abc OK\r\n\r\n", "reply is not valid HTTP: HTTP/1.1 abc OK"),
    "long-line": (OK + b"A: " + b"a" * 70_000 + b"\r\n\r\n", "reply is not valid HTTP: got more"),
    "many-headers": (OK + b"A: a\r\n" * 200 + b"\r\n", "reply is not valid HTTP: got more"),
    "loop": (b"HTTP/1.1 302 Found\r\nLocation: /loop\r\n\r\n", "302 .* infinite loop"),
    "to-a-file": (b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n", "not allowed"),
    "bad-length": (OK + b"Content-Length: abc\r\n\r\n" + CONTENT, "its size as 'abc'"),
    "negative-length": (OK + b"Content-Length: -5\r\n\r\n" + CONTENT, "its size as '-5'"),
    "huge-length": (OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", "it has 999"),
    "cut": (OK + b"Content-Length: 2000\r\n\r\n" + CONTENT, "ended after 1,000 of 2,000 bytes"),
    "cut-chunk": (CHUNKED + b"3e8\r\n" + CONTENT[:500], "it ended in the middle"),
    "cut-after-a-chunk": (CHUNKED + b"3e8\r\n" + CONTENT + b"\r\n", "it ended in the middle"),
    "bad-chunk": (CHUNKED + b"zz\r\n" + CONTENT, "it ended in the middle"),
    "negative-chunk": (CHUNKED + b"-5\r\n" + CONTENT, "reply is not valid HTTP"),
}
GOOD_REPLIES = {
    "whole": OK + b"Content-Length: 1000\r\n\r\n" + CONTENT,
    "unknown-length": OK + b"\r\n" + CONTENT,
    "chunked": CHUNKED
    + b"1f4\r\n"
    + CONTENT[:500]
    + b"\r\n1f4\r\n"
    + CONTENT[500:]
    + b"\r\n0\r\n\r\n",
    "moved": b"HTTP/1.1 301 Moved\r\nLocation: /whole\r\n\r\n",
}
REPLIES = {**GOOD_REPLIES, **{page: reply for page, (reply, _) in BAD_REPLIES.items()}}


N_REQUESTS = Counter()  # by page


class Handler(http.server.BaseHTTPRequestHandler):
    """Pages are replies; "flaky/PAGE" gives it twice, "drip/PAGE" slowly from the first byte,
    "drip-body/PAGE" from the end of the head, and "slow" nothing for a second."""

    def do_GET(self):
        *how, page = self.path.strip("/").split("/")
        N_REQUESTS[self.path] += 1
        if how == ["flaky"] and N_REQUESTS[self.path] > 2:
            page = "whole"
        if page == "slow":
            time.sleep(1)
            return
        reply = REPLIES[page]
        head = {"drip": 0, "drip-body": reply.find(b"\r\n\r\n") + 4}.get("".join(how), len(reply))
        with suppress(ConnectionError):  # those who do not wait for the end
            self.wfile.write(reply[:head])
            for i in range(head, len(reply)):
                time.sleep(0.02)
                self.wfile.write(reply[i : i + 1])

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True  # do not wait for the slow ones
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def hurry(monkeypatch):
    monkeypatch.setattr(downloads, "PAUSE", 0.01)
    N_REQUESTS.clear()


def accept(path):
    assert path.read_bytes() == b"x" * 1000


@pytest.mark.parametrize("page", GOOD_REPLIES)
def test_a_file_is_fetched_checked_and_moved(server, page, tmp_path, capsys):
    target = tmp_path / "new" / "file.zip"
    seen = []
    download(f"{server}/{page}", target, lambda path: seen.append((path, target.exists())))
    assert target.read_bytes() == b"x" * 1000
    assert seen[0][1] is False and seen[0][0].parent == target.parent
    assert [path.name for path in target.parent.iterdir()] == ["file.zip"]
    assert "file.zip" in capsys.readouterr().err  # the progress bar
    download(f"{server}/{page}", target, accept, show_progress=False)
    assert capsys.readouterr().err == ""


def failure(url, folder):
    """The sentence that says which file to put where, and nothing else."""
    with pytest.raises(OSError) as caught:
        download(url, folder / "file.zip", accept, show_progress=False)
    assert list(folder.iterdir()) == []
    remedy = f"). Without a network, put the file file.zip into the folder {folder}."
    message = str(caught.value)
    assert message.startswith(f"file.zip could not be downloaded from {url} (")
    assert message.endswith(remedy)
    assert message.isprintable()  # and so on one line
    return message.removesuffix(remedy)


@pytest.mark.parametrize("page", BAD_REPLIES)
def test_what_fails_says_which_file_to_put_where(server, page, tmp_path):
    assert re.search(BAD_REPLIES[page][1], failure(f"{server}/{page}", tmp_path))


PASSING = {
    *("busy", "too-many", "nothing", "no-http", "bad-status", "long-line", "many-headers"),
    *("cut", "cut-chunk", "cut-after-a-chunk", "bad-chunk"),
}


@pytest.mark.parametrize("page", BAD_REPLIES)
def test_only_what_may_pass_is_tried_again(server, page, tmp_path):
    url = f"{server}/flaky/{page}"
    if page in PASSING:
        download(url, tmp_path / "file.zip", accept, show_progress=False)
        assert N_REQUESTS[f"/flaky/{page}"] == 3
    else:
        failure(url, tmp_path)
        assert N_REQUESTS[f"/flaky/{page}"] == 1


def test_there_are_three_tries_with_longer_and_longer_pauses(server, tmp_path, monkeypatch):
    pauses = []
    monkeypatch.setattr(downloads, "PAUSE", 1)
    monkeypatch.setattr(downloads.time, "sleep", pauses.append)
    failure(f"{server}/cut", tmp_path)
    assert pauses == [1, 2]
    assert N_REQUESTS["/cut"] == 3


def test_a_file_that_does_not_pass_is_not_fetched_again(server, tmp_path):
    def refuse(path):
        raise ValueError("not what it should be")

    message = rf"file as downloaded from {server}/whole cannot be used .* not kept: not what"
    with pytest.raises(ValueError, match=message):
        download(f"{server}/whole", tmp_path / "file", refuse, show_progress=False)
    assert N_REQUESTS["/whole"] == 1


@pytest.mark.parametrize(
    "how, page",
    [*(("drip", page) for page in GOOD_REPLIES), ("drip-body", "whole"), ("drip-body", "chunked")],
)
def test_a_byte_at_a_time_does_not_last_forever(server, how, page, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "LONGEST_DOWNLOAD", 0.4)
    start = time.monotonic()
    assert "it took more than 0.4 seconds" in failure(f"{server}/{how}/{page}", tmp_path)
    assert time.monotonic() - start < 5  # of 20
    assert N_REQUESTS[f"/{how}/{page}"] == 1


def test_a_server_that_says_nothing_is_not_waited_for(server, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "TIMEOUT", 0.2)
    start = time.monotonic()
    assert "timed out" in failure(f"{server}/slow", tmp_path)
    assert time.monotonic() - start < 3  # of the time that the server takes for three
    assert N_REQUESTS["/slow"] == 3


def test_tries_end_with_the_time_for_all_of_them(server, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "TIMEOUT", 0.3)
    monkeypatch.setattr(downloads, "LONGEST_DOWNLOAD", 0.4)
    failure(f"{server}/slow", tmp_path)
    assert N_REQUESTS["/slow"] < 3


def test_connections_over_tls_are_timed_as_well():
    """There is no certificate to serve pages with here."""
    opener = urllib.request.build_opener(
        downloads._HTTPHandler(deadline=0), downloads._HTTPSHandler(deadline=0)
    )
    handlers = opener.handle_open["https"] + opener.handle_open["http"]
    assert [type(one) for one in handlers] == [downloads._HTTPSHandler, downloads._HTTPHandler]


def test_no_server_at_all(tmp_path):
    with pytest.raises(OSError, match=r"could not be downloaded .* put the file"):
        download("http://127.0.0.1:9/file", tmp_path / "file", accept, show_progress=False)


@pytest.mark.parametrize("page", ["whole", "unknown-length"])
def test_sizes_are_bounded(server, page, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "LARGEST_DOWNLOAD", 999)
    with pytest.raises(OSError, match="bytes"):
        download(f"{server}/{page}", tmp_path / "file", accept, show_progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_does_not_pass_is_not_moved(server, tmp_path):
    target = tmp_path / "file"
    target.write_text("the old one")

    def refuse(path):
        raise ValueError("not what it should be")

    with pytest.raises(ValueError, match="not what it should be"):
        download(f"{server}/whole", target, refuse, show_progress=False)
    assert target.read_text() == "the old one"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_folder_is_the_argument_the_variable_or_a_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SKLOFI_DATA", str(tmp_path / "variable"))
    assert data_folder(tmp_path / "argument") == tmp_path / "argument"
    assert data_folder("~/argument") == tmp_path / "argument"
    assert data_folder(None) == tmp_path / "variable"
    monkeypatch.delenv("SKLOFI_DATA")
    assert data_folder(None) == Path.home() / ".cache" / "sklofi"
