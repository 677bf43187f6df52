"""Downloads, from a server on this machine."""

import http.server
import threading
import time
from pathlib import Path

import pytest

from sklofi import downloads
from sklofi.downloads import data_folder, download


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        content = b"x" * 1000
        if self.path == "/missing":
            self.send_error(404)
            return
        self.send_response(200)
        if self.path != "/unknown-length":
            length = 2000 if self.path == "/cut" else len(content)
            self.send_header("Content-Length", str(length))
        self.end_headers()
        if self.path == "/slow":
            time.sleep(1)
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def accept(path):
    assert path.read_bytes() == b"x" * 1000


@pytest.mark.parametrize("page", ["whole", "unknown-length"])
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


@pytest.mark.parametrize(
    "page, reason",
    [
        ("missing", "Not Found"),
        ("cut", "ended after 1,000 of 2,000 bytes"),
        ("slow", "timed out"),
    ],
)
def test_what_fails_says_which_file_to_put_where(server, page, reason, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "TIMEOUT", 0.2)
    target = tmp_path / "file.zip"
    message = rf"file.zip could not be downloaded from {server}/{page} \(.*{reason}.*\). Without a"
    message += rf" network, put the file file.zip into the folder {tmp_path}\."
    with pytest.raises(OSError, match=message):
        download(f"{server}/{page}", target, accept, show_progress=False)
    assert list(tmp_path.iterdir()) == []


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
