import http.server
import threading
from functools import partial

import pytest

from sklofi.datasets import _fetch, _moleculenet


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server of the files in a folder, in place of the official addresses."""
    folder = tmp_path / "server"
    folder.mkdir()
    handler = partial(QuietHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{running.server_port}"
        monkeypatch.setattr(_fetch, "TU_ADDRESS", address)
        monkeypatch.setattr(_fetch, "ZINC_LISTS_ADDRESS", address)
        monkeypatch.setattr(_moleculenet, "MOLECULENET_ADDRESS", address)
        yield folder
        running.shutdown()
        thread.join()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass
