#!/usr/bin/env python3
"""Stands in for rclone in tests: `rclone rcd` over a folder, as far as Ferry speaks with it. Believes nothing that it can check.

Faults are files in the folder FAKE_RCLONE: `version` (another version), `die` (ends at the next request, once), `refuse` (an error for every
upload), `start` (a line before it ends at once), `break` (how many readings break off). `requests` there gets a line for each request.
"""
import base64
import http.server
import json
import os
import pathlib
import re
import sys
import urllib.parse

CONTROL = pathlib.Path(os.environ["FAKE_RCLONE"])
ROOT = CONTROL / "remote"
USER, PASSWORD = os.environ.get("RCLONE_RC_USER", ""), os.environ.get("RCLONE_RC_PASS", "")


class Refused(Exception):
    def __init__(self, status, message):
        self.status, self.message = status, message


def place(fs, remote):
    name, _, path = fs.partition(":")
    if name != "drive":
        raise Refused(500, "didn't find section in config file")
    found = (ROOT / path.strip("/") / remote).resolve()
    if not found.is_relative_to(ROOT.resolve()):
        raise Refused(400, "leads elsewhere")
    return found


def told(path, top):
    status = path.stat()
    return {"Path": str(path.relative_to(top)), "Name": path.name, "Size": -1 if path.is_dir() else status.st_size,
            "ModTime": f"2026-11-24T10:00:00.{status.st_mtime_ns % 10**9:09d}Z" + "", "IsDir": path.is_dir(),
            "ID": str(status.st_mtime_ns)}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def reply(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with open(CONTROL / "requests", "a") as log:
            log.write(f"{self.command} {urllib.parse.unquote(self.path)}\n")
        wanted = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != wanted or len(PASSWORD) < 64:
            return self.reply(401, b"{}")
        if (CONTROL / "die").exists() and "version" not in self.path:
            (CONTROL / "die").unlink()
            os._exit(3)
        try:
            if self.command == "GET" and self.breaks():
                self.close_connection = True
                return self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
            if self.command == "GET":
                return self.reply(200, self.content(), "application/octet-stream")
            answer = self.act(self.path[1:], json.loads(body))
            self.reply(200, json.dumps(answer).encode())
        except Refused as refused:
            self.reply(refused.status, json.dumps({"error": refused.message, "status": refused.status}).encode())

    do_GET = do_POST = serve

    def breaks(self):
        path = CONTROL / "break"
        count = int(path.read_text()) if path.exists() else 0
        path.write_text(str(max(count - 1, 0)))
        return count > 0

    def content(self):
        match = re.fullmatch(r"/\[(.*?)\]/(.*)", urllib.parse.unquote(self.path))
        if match is None:
            raise Refused(404, "not a path")
        path = place(match[1], match[2])
        if not path.is_file():
            raise Refused(404, "failed to find object: object not found")
        return path.read_bytes()

    def act(self, name, order):
        if name == "core/version":
            text = (CONTROL / "version").read_text() if (CONTROL / "version").exists() else "1.60.1"
            return {"version": "v" + text, "decomposed": [int(part) for part in text.split(".")]}
        if name == "operations/fsinfo":
            place(order["fs"], "")
            return {"Features": {"SlowHash": True}, "Hashes": ["md5"]}
        if name == "operations/list":
            top, path = place(order["fs"], ""), place(order["fs"], order["remote"])
            if not path.is_dir():
                raise Refused(404, "error in ListJSON: directory not found")
            assert order["opt"]["recurse"] and order["opt"]["filesOnly"] and order["_config"]["UseServerModTime"]
            return {"list": [told(each, top) for each in sorted(path.rglob("*")) if each.is_file()]}
        if name == "operations/stat":
            top, path = place(order["fs"], ""), place(order["fs"], order["remote"])
            return {"item": told(path, top) if path.is_file() else None}
        if name == "operations/copyfile":
            if (CONTROL / "refuse").exists():
                raise Refused(500, (CONTROL / "refuse").read_text())
            source = pathlib.Path(order["srcFs"])
            if source.stat().st_mode & 0o77 or not order["_config"]["NoCheckDest"]:
                raise Refused(500, "others may look into the folder")
            path = place(order["dstFs"], order["dstRemote"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_name(path.name + ".part").write_bytes((source / order["srcRemote"]).read_bytes())
            path.with_name(path.name + ".part").rename(path)
            return {}
        if name == "operations/deletefile":
            path = place(order["fs"], order["remote"])
            if not path.is_file():
                raise Refused(404, "object not found")
            path.unlink()
            return {}
        raise Refused(404, f"unknown: {name}")


def main():
    if sys.argv[1:] != ["rcd", "--rc-addr", "127.0.0.1:0", "--rc-serve"]:
        sys.exit(f"unexpected arguments: {sys.argv[1:]}")
    if any(os.environ.get(name) for name in ("AWS_CA_BUNDLE", "RCLONE_LOG_FILE", "RCLONE_RC_NO_AUTH")):
        sys.exit("a variable would change how rclone is spoken with")
    if os.environ.get("RCLONE_ASK_PASSWORD") != "false":
        sys.exit("rclone might ask for a password")
    if (CONTROL / "start").exists():
        sys.exit((CONTROL / "start").read_text())
    ROOT.mkdir(exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    (CONTROL / "pid").write_text(str(os.getpid()))
    print(f"2026/11/24 19:05:57 NOTICE: Serving remote control on http://127.0.0.1:{server.server_port}/", file=sys.stderr, flush=True)
    server.serve_forever()


main()
