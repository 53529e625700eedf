#!/usr/bin/env python3
"""An HTTP server on loopback that serves what a test tells it to. Standard library only.

It prints its port on the first line and ends with its standard input, so that it never outlives the test.

A test tells it by requests to paths that begin with /_ :

  PUT  /_route?path=P     the body is JSON, a route or a list of them; the n-th request of P gets the n-th, later ones the
                          last (see Route in FeedTestServer.swift for the members)
  GET  /_requests?path=P  the requests of P so far: a list of {"method", "headers", "status"}; status is what was answered
  GET  /_held?path=P      answers once a request of P is being held
  POST /_release?path=P   lets all requests of P go on, those that come later too
  GET  /_peak             the most requests that were being answered at the same time, {"all": n, "hosts": {host: n}}
"""

import base64
import gzip
import json
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PATIENCE_SECONDS = 60  # a test that never releases a request fails instead of hanging


class State:
    def __init__(self):
        self.changed = threading.Condition()
        self.routes = {}
        self.requests = {}
        self.held = {}
        self.released = set()
        self.active = {}
        self.peak = {"all": 0, "hosts": {}}

    def begin(self, host):
        with self.changed:
            self.active[host] = self.active.get(host, 0) + 1
            self.peak["all"] = max(self.peak["all"], sum(self.active.values()))
            self.peak["hosts"][host] = max(self.peak["hosts"].get(host, 0), self.active[host])

    def end(self, host):
        with self.changed:
            self.active[host] -= 1

    def hold(self, path):
        """Waits until the path is released; false if nobody does."""
        with self.changed:
            self.held[path] = self.held.get(path, 0) + 1
            self.changed.notify_all()
            released = self.changed.wait_for(lambda: path in self.released, PATIENCE_SECONDS)
            self.held[path] -= 1
            return released

    def wait_until_held(self, path, count):
        with self.changed:
            return self.changed.wait_for(lambda: self.held.get(path, 0) >= count, PATIENCE_SECONDS)


STATE = State()


def generated(spec):
    """The bytes of an RSS feed that is made while it is sent."""
    yield b'<?xml version="1.0"?><rss version="2.0"><channel><title>Generated</title>'
    filler = b"x" * spec.get("fill", 1000)
    for number in range(spec["articles"]):
        yield b"<item><guid>%d</guid><title>Article %d</title><description>%s</description></item>" % (
            number, number, filler)
    yield b"</channel></rss>"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "FeedTestServer"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.handle_request()

    def do_PUT(self):
        self.handle_request()

    def do_POST(self):
        self.handle_request()

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        if url.path.startswith("/_"):
            self.control(url, body)
            return
        host = self.headers.get("Host", "")
        STATE.begin(host)
        try:
            self.serve()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            STATE.end(host)

    def control(self, url, body):
        query = parse_qs(url.query)
        path = query.get("path", [""])[0]
        answer = {}
        if url.path == "/_route":
            routes = json.loads(body)
            with STATE.changed:
                STATE.routes[path] = routes if isinstance(routes, list) else [routes]
                STATE.requests.setdefault(path, [])
        elif url.path == "/_requests":
            with STATE.changed:
                answer = list(STATE.requests.get(path, []))
        elif url.path == "/_held":
            answer = STATE.wait_until_held(path, int(query.get("count", ["1"])[0]))
        elif url.path == "/_release":
            with STATE.changed:
                STATE.released.add(path)
                STATE.changed.notify_all()
        elif url.path == "/_peak":
            with STATE.changed:
                answer = STATE.peak
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    # What a route says.

    def serve(self):
        with STATE.changed:
            seen = STATE.requests.setdefault(self.path, [])
            routes = STATE.routes.get(self.path, [{"status": 404, "body": "nothing here"}])
            route = routes[min(len(seen), len(routes) - 1)]
            status = 304 if self.is_known(route) else route.get("status", 200)
            seen.append({"method": self.command, "headers": dict(self.headers.items()), "status": status})
        if route.get("hold") == "beforeHead" and not STATE.hold(self.path):
            self.close_connection = True
            return
        if route.get("hangUp"):
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in route.get("headers", {}).items():
            self.send_header(name, value)
        if route.get("etag"):
            self.send_header("ETag", route["etag"])
        if route.get("lastModified"):
            self.send_header("Last-Modified", route["lastModified"])
        if status == 304:
            self.end_headers()
        elif "generate" in route:
            self.stream(route)
        else:
            self.send_body(route)

    def is_known(self, route):
        known = self.headers.get("If-None-Match")
        if known is not None:
            return bool(route.get("etag")) and known == route["etag"]
        since = self.headers.get("If-Modified-Since")
        return since is not None and since == route.get("lastModified")

    def send_body(self, route):
        body = base64.b64decode(route["base64"]) if "base64" in route else route.get("body", "").encode()
        if "zeros" in route:
            body = b"\0" * route["zeros"]
        encoding = route.get("encoding")
        if encoding == "gzip":
            body = gzip.compress(body)
        elif encoding == "deflate":
            body = zlib.compress(body)
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.send_header("Content-Length", str(route.get("contentLength", len(body))))
        self.end_headers()
        cut = route.get("cutAfter", len(body))
        if route.get("hold") == "inBody":
            half = min(cut, len(body) // 2)
            self.wfile.write(body[:half])
            self.wfile.flush()
            if STATE.hold(self.path):
                self.wfile.write(body[half:cut])
        else:
            self.wfile.write(body[:cut])
        if cut < len(body) or "contentLength" in route:
            self.close_connection = True

    def stream(self, route):
        """Chunked, so that neither side knows the length."""
        self.send_header("Transfer-Encoding", "chunked")
        packer = zlib.compressobj(wbits=31) if route.get("encoding") == "gzip" else None
        if packer:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        for piece in generated(route["generate"]):
            self.write_chunk(packer.compress(piece) if packer else piece)
        if packer:
            self.write_chunk(packer.flush())
        self.wfile.write(b"0\r\n\r\n")

    def write_chunk(self, piece):
        if piece:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """Clients that go away are part of the tests; everything else is said."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main():
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.buffer.read()  # until the test ends or closes it


if __name__ == "__main__":
    main()
