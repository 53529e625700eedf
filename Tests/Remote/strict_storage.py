#!/usr/bin/env python3
"""A strict S3-compatible storage in memory, for tests: it believes nothing that it can check.

It listens on loopback, prints its port, and ends when its standard input does. It verifies the signature, the hash of the body and the
date of every request, knows conditions, and lists in pages of PAGE objects. `POST /_control` with a JSON object changes how it behaves,
and answers with what it has seen:

    {"reset": true}                     forgets faults and requests
    {"conditions": "honour" | "ignore" | "refuse"}
    {"clock": seconds}                  its clock is ahead by so much
    {"keys": {"ID": "SECRET"}, "token": "T"}   the credentials it takes, and a session token that must come along
    {"deny": ["PUT", …]}                methods that it refuses
    {"lag": true}                       listings say what was there now
    {"faults": [{"method": "PUT", "part": "segments/", "action": "503" | "drop" | "done-drop" | "slow", "times": 1}]}
    {"put": {"key": "base64"}}, {"delete": ["key"]}   past all requests
    {"versioning": "Enabled"}, {"lifecycle": "<Rule>…</Rule>"}   settings of the bucket
    {"requests": true}                  answers with method, path and headers of each request
"""
import argparse
import base64
import datetime
import email.utils
import hashlib
import hmac
import http.server
import json
import re
import sys
import threading
import time
import urllib.parse
import xml.sax.saxutils

EMPTY = hashlib.sha256(b"").hexdigest()


class Storage:
    """The objects and the behavior, behind one lock."""

    def __init__(self, bucket, region, keys, page):
        self.lock = threading.Lock()
        self.bucket, self.region, self.page = bucket, region, page
        self.keys, self.token = keys, None
        self.objects = {}
        self.reset()

    def reset(self):
        self.faults, self.requests, self.deny = [], [], []
        self.conditions, self.clock, self.listed = "honour", 0, None
        self.versioning, self.lifecycle = "", None

    def now(self):
        return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.clock)

    def control(self, order):
        if order.get("reset"):
            self.reset()
        for name in ("conditions", "clock", "deny", "faults", "keys", "token", "versioning", "lifecycle"):
            if name in order:
                setattr(self, name, order[name])
        for key, text in order.get("put", {}).items():
            self.objects[key] = base64.b64decode(text)
        for key in order.get("delete", []):
            self.objects.pop(key, None)
        if "lag" in order:
            self.listed = dict(self.objects) if order["lag"] else None
        answer = {"count": len(self.requests), "keys": sorted(self.objects)}
        if order.get("requests"):
            answer["requests"] = self.requests
        return answer

    def fault(self, method, path):
        for fault in self.faults:
            if fault["method"] in (method, "*") and fault.get("part", "") in path and fault.get("times", 1) > 0:
                fault["times"] = fault.get("times", 1) - 1
                return fault["action"]
        return None


def tag(content):
    return '"' + hashlib.md5(content, usedforsecurity=False).hexdigest() + '"'


def encode(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-._~")


class Refused(Exception):
    def __init__(self, status, code, extra=""):
        self.status, self.code, self.extra = status, code, extra


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    storage = None

    def log_message(self, *arguments):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response_only(status)
        self.send_header("Date", email.utils.format_datetime(self.storage.now(), usegmt=True))
        for name, value in headers:
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status not in (204, 304):
            self.wfile.write(body)

    def refuse(self, refused):
        if refused.status in (304, 204):
            return self.answer(refused.status)
        text = f"<?xml version='1.0'?><Error><Code>{refused.code}</Code>{refused.extra}</Error>"
        self.answer(refused.status, text.encode(), [("Content-Type", "application/xml")])

    # What every request has to prove.

    def verify(self, body):
        storage, headers = self.storage, {name.lower(): value for name, value in self.headers.items()}
        text = headers.get("authorization", "")
        scheme, _, rest = text.partition(" ")
        fields = dict(part.strip().partition("=")[::2] for part in rest.split(","))
        if scheme != "AWS4-HMAC-SHA256" or set(fields) != {"Credential", "SignedHeaders", "Signature"}:
            raise Refused(403, "AccessDenied")
        key, day, region, service, end = fields["Credential"].split("/")
        if key not in storage.keys:
            raise Refused(403, "InvalidAccessKeyId")
        if region != storage.region:
            raise Refused(400, "AuthorizationHeaderMalformed", f"<Region>{storage.region}</Region>")
        if (service, end) != ("s3", "aws4_request"):
            raise Refused(400, "AuthorizationHeaderMalformed")
        if storage.token is not None and headers.get("x-amz-security-token") != storage.token:
            raise Refused(400, "ExpiredToken")
        stamp = headers.get("x-amz-date", "")
        date = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if abs((date - storage.now()).total_seconds()) > 900 or not stamp.startswith(day):
            raise Refused(403, "RequestTimeTooSkewed")
        if headers.get("x-amz-content-sha256") != hashlib.sha256(body).hexdigest():
            raise Refused(400, "XAmzContentSHA256Mismatch")
        signed = fields["SignedHeaders"].split(";")
        wanted = {"host"} | {name for name in headers if name.startswith("x-amz-") or name == "if-none-match"}
        if signed != sorted(signed) or not wanted <= set(signed):
            raise Refused(403, "AccessDenied")
        if any(name.startswith("x-amz-checksum") for name in headers) or "transfer-encoding" in headers:
            raise Refused(501, "NotImplemented")
        path, _, query = self.path.partition("?")
        pairs = sorted((encode(n), encode(v)) for n, v in urllib.parse.parse_qsl(query, keep_blank_values=True))
        canonical = "\n".join([
            self.command, path, "&".join(f"{n}={v}" for n, v in pairs),
            "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in signed), ";".join(signed),
            headers["x-amz-content-sha256"]])
        text = "\n".join([
            "AWS4-HMAC-SHA256", stamp, f"{day}/{region}/s3/aws4_request", hashlib.sha256(canonical.encode()).hexdigest()])
        secret = ("AWS4" + storage.keys[key]).encode()
        for part in (day, region, "s3", "aws4_request", text):
            secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
        if not hmac.compare_digest(secret.hex(), fields["Signature"]):
            raise Refused(403, "SignatureDoesNotMatch")

    def key(self):
        path = urllib.parse.unquote(self.path.partition("?")[0])
        host = self.headers.get("Host", "").split(":")[0]
        if host.startswith(self.storage.bucket + "."):
            return path[1:]
        bucket, _, key = path[1:].partition("/")
        if bucket != self.storage.bucket:
            raise Refused(404, "NoSuchBucket")
        return key

    def serve(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        storage = self.storage
        if self.path == "/_control":
            with storage.lock:
                answer = storage.control(json.loads(body or b"{}"))
            return self.answer(200, json.dumps(answer).encode())
        with storage.lock:
            storage.requests.append([self.command, self.path, dict(self.headers.items())])
            action = storage.fault(self.command, self.path)
        if action == "drop":
            self.close_connection = True
            return self.connection.close()
        if action == "slow":
            time.sleep(0.3)
        if action == "hang":
            threading.Event().wait(120)
        try:
            if action is not None and action.isdigit():
                raise Refused(int(action), {"503": "SlowDown", "500": "InternalError", "403": "AccessDenied"}.get(action, "Error"))
            self.verify(body)
            if self.command in storage.deny:
                raise Refused(403, "AccessDenied")
            with storage.lock:
                status, content, headers = self.act(body)
        except Refused as refused:
            status, content, headers = None, refused, None
        except (ValueError, KeyError):
            status, content, headers = None, Refused(400, "InvalidRequest"), None
        if action == "done-drop":
            self.close_connection = True
            return self.connection.close()
        if status is None:
            return self.refuse(content)
        self.answer(status, content, headers)

    do_GET = do_PUT = do_DELETE = do_HEAD = do_POST = serve

    # The requests themselves.

    def act(self, body):
        storage, key = self.storage, self.key()
        if self.command == "GET" and not key:
            return self.list()
        if self.command == "GET":
            if key not in storage.objects:
                raise Refused(404, "NoSuchKey")
            content = storage.objects[key]
            if self.headers.get("If-None-Match") == tag(content):
                raise Refused(304, "")
            wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if wanted:
                first, last = int(wanted[1]), int(wanted[2])
                if first >= len(content):
                    raise Refused(416, "InvalidRange")
                return 206, content[first:last + 1], [("ETag", tag(content))]
            return 200, content, [("ETag", tag(content))]
        if self.command == "PUT":
            if self.headers.get("If-None-Match") == "*":
                if storage.conditions == "refuse":
                    raise Refused(501, "NotImplemented")
                if storage.conditions == "honour" and key in storage.objects:
                    raise Refused(412, "PreconditionFailed")
            storage.objects[key] = body
            return 200, b"", [("ETag", tag(body))]
        if self.command == "DELETE":
            storage.objects.pop(key, None)
            return 204, b"", []
        raise Refused(405, "MethodNotAllowed")

    def list(self):
        storage = self.storage
        query = dict(urllib.parse.parse_qsl(self.path.partition("?")[2], keep_blank_values=True))
        if "versioning" in query:
            status = f"<Status>{storage.versioning}</Status>" if storage.versioning else ""
            return 200, f"<VersioningConfiguration>{status}</VersioningConfiguration>".encode(), []
        if "lifecycle" in query:
            if storage.lifecycle is None:
                raise Refused(404, "NoSuchLifecycleConfiguration")
            return 200, f"<LifecycleConfiguration>{storage.lifecycle}</LifecycleConfiguration>".encode(), []
        if query.get("list-type") != "2":
            raise Refused(400, "InvalidArgument")
        objects = storage.objects if storage.listed is None else storage.listed
        start = query.get("start-after", "")
        if "continuation-token" in query:
            start = base64.b64decode(query["continuation-token"]).decode()
        found = sorted((key for key in objects if key.startswith(query.get("prefix", "")) and key > start), key=str.encode)
        page, isTruncated = found[:storage.page], len(found) > storage.page
        parts = ["<?xml version='1.0' encoding='UTF-8'?><ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>",
                 "<EncodingType>url</EncodingType>", f"<IsTruncated>{'true' if isTruncated else 'false'}</IsTruncated>"]
        if isTruncated:
            token = base64.b64encode(page[-1].encode()).decode()
            parts.append(f"<NextContinuationToken>{xml.sax.saxutils.escape(token)}</NextContinuationToken>")
        for key in page:
            quoted = xml.sax.saxutils.escape(tag(objects[key]), {'"': "&quot;"})
            parts.append(f"<Contents><Key>{encode(key, '/')}</Key><Size>{len(objects[key])}</Size><ETag>{quoted}</ETag></Contents>")
        parts.append("</ListBucketResult>")
        return 200, "".join(parts).encode(), [("Content-Type", "application/xml")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bucket", default="music-bucket")
    parser.add_argument("--region", default="eu-1")
    parser.add_argument("--key", default="FERRYTESTKEY")
    parser.add_argument("--secret", default="ferry/test+secret")
    parser.add_argument("--page", type=int, default=3)
    options = parser.parse_args()
    Handler.storage = Storage(options.bucket, options.region, {options.key: options.secret}, options.page)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
    server.shutdown()


main()
