"""A server on loopback that keeps results of backends, as `--cache http://...` asks for them: GET and PUT of a path.

    with CacheServer() as server:
        depute("lower", model, "--cache", server.url, ...)
    assert len(server.entries) == 2

`server.act` sees each request first, and misbehaves in the server's place if it returns True.
"""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def handle_request(self):
        server = self.server.cache
        self.sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server.requests.append((self.command, self.path, dict(self.headers)))
        if server.act is not None and server.act(self):
            self.close_connection = True
        elif self.command == "PUT":
            server.entries[self.path] = self.sent
            self.reply(201)
        elif self.path in server.entries:
            self.reply(200, server.entries[self.path])
        else:
            self.reply(404, b"there is none")

    do_GET = do_PUT = handle_request


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # a client that goes away


class CacheServer:
    def __init__(self):
        self.entries = {}  # path -> bytes
        self.requests = []  # method, path, headers
        self.act = None
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.cache = self
        self.address = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.address}/team/cache"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()

    def count(self, method):
        return sum(request[0] == method for request in self.requests)


def command_lines():
    """The command lines of all processes."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            pass
    return lines
