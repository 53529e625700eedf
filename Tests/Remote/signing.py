"""A small client of an S3-compatible storage, written apart from Ferry's: for tests that make buckets and look into them."""
import datetime
import hashlib
import hmac
import http.client
import re
import urllib.parse


class Client:
    def __init__(self, endpoint, key, secret, region):
        self.host, self.key, self.secret, self.region = endpoint.split("://")[1], key, secret, region

    def request(self, method, path, query=(), body=b""):
        """Sends a signed request, and returns the status and the body of the answer."""
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        path = urllib.parse.quote(path, safe="/-._~")
        pairs = "&".join(
            f"{urllib.parse.quote(n, safe='-._~')}={urllib.parse.quote(v, safe='-._~')}" for n, v in sorted(query))
        content = hashlib.sha256(body).hexdigest()
        headers = {"host": self.host, "x-amz-content-sha256": content, "x-amz-date": stamp}
        names = ";".join(sorted(headers))
        canonical = "\n".join(
            [method, path, pairs, "".join(f"{n}:{headers[n]}\n" for n in sorted(headers)), names, content])
        scope = f"{day}/{self.region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        secret = ("AWS4" + self.secret).encode()
        for part in (day, self.region, "s3", "aws4_request", text):
            secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.key}/{scope},SignedHeaders={names},Signature={secret.hex()}")
        connection = http.client.HTTPConnection(self.host, timeout=60)
        connection.request(method, path + ("?" + pairs if pairs else ""), body or None, headers)
        answer = connection.getresponse()
        result = answer.status, answer.read()
        connection.close()
        return result

    def keys(self, bucket, prefix=""):
        """The names of all objects below a prefix."""
        found, token = [], None
        while True:
            query = [("list-type", "2"), ("prefix", prefix)] + ([("continuation-token", token)] if token else [])
            status, body = self.request("GET", f"/{bucket}", query)
            assert status == 200, body
            text = body.decode()
            found += re.findall(r"<Key>([^<]*)</Key>", text)
            token = re.search(r"<NextContinuationToken>([^<]*)<", text)
            if token is None:
                return found
            token = token[1]
