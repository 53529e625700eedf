#!/usr/bin/env python3
"""Reads a sealed container as Docs/Format.md ("Sealed containers") and Docs/Sealing.md describe it, and shares no code with Ferry.

    unseal.py FOLDER [KEYFILE...] [--plain FOLDER]
    unseal.py --archive FILE KEYFILE... [--plain FILE]

Verifies every record and claim, computes the members, opens what a key file's device can open, and prints what it found, one
fact a line. The tests hold that against what Ferry finds. `--plain` writes the opened files, for read.py; of an archive the one
that an open container has. Where something breaks the format, it says so and ends with status 1. It needs the package `cryptography` (Debian: python3-cryptography).
"""

import hashlib
import hmac
import json
import os
import struct
import sys

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF, HKDFExpand
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from read import Damaged, Reader, archived_packs, checksum, need  # noqa: E402  Primitives and checksums,
from read import manifest as read_manifest  # noqa: E402  and the names of chunks in a plain manifest.

PREFIX = b"ferry-seal-1 "
RECOVERY = bytes(16)
ZERO = bytes(32)
KINDS = {".segment": 1, "head": 2, ".snapshot": 3, ".chunk": 4}
P = (1 << 255) - 19


# Keys and hashes


def sha256(content):
    return hashlib.sha256(content).digest()


def mac(key, content):
    return hmac.new(key, content, hashlib.sha256).digest()


def context(label):
    return PREFIX + label.encode() + b"\0"


def label_hash(label, *parts):
    return sha256(context(label) + b"".join(parts))


def derive(container, secret, label, extra=b"", count=32):
    return HKDF(hashes.SHA256(), count, container, context(label) + extra).derive(secret)


def is_signed(key, signature, label, content):
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, context(label) + sha256(content))
        return True
    except (InvalidSignature, ValueError):
        return False


def device_id(container, signing, box):
    digest = bytearray(label_hash("device", container, signing, box)[:16])
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    return bytes(digest)


def check_keys(signing, box):
    # Ed25519: y of a point of order 1, 2 or 4 is 1, -1 or 0; of order 8 it solves d·y⁴ + 2·y² - 1 = 0.
    y = int.from_bytes(signing, "little") & (1 << 255) - 1
    d = -121665 * pow(121666, -1, P) % P
    need(y % P not in (0, 1, P - 1) and (d * y**4 + 2 * y**2 - 1) % P, "a signing key protects nothing")
    try:
        shared = X25519PrivateKey.from_private_bytes(b"\x09" * 32).exchange(X25519PublicKey.from_public_bytes(box))
    except ValueError:
        shared = ZERO
    need(shared != ZERO, "a box key protects nothing")


# HPKE, RFC 9180, the receiver of base mode


def open_wrap(private, container, epoch, receiver, enc, ciphertext):
    def extract(suite, label, ikm, salt=b""):
        return mac(salt or ZERO, b"HPKE-v1" + suite + label + ikm)

    def expand(suite, key, label, info, count):
        labeled = struct.pack(">H", count) + b"HPKE-v1" + suite + label + info
        return HKDFExpand(hashes.SHA256(), count, labeled).derive(key)

    kem, suite = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x03"
    public = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    agreed = private.exchange(X25519PublicKey.from_public_bytes(enc))
    shared = expand(kem, extract(kem, b"eae_prk", agreed), b"shared_secret", enc + public, 32)
    info = context("wrap") + container + epoch
    schedule = b"\0" + extract(suite, b"psk_id_hash", b"") + extract(suite, b"info_hash", info)
    secret = extract(suite, b"secret", b"", shared)
    key = expand(suite, secret, b"key", schedule, 32)
    nonce = expand(suite, secret, b"base_nonce", schedule, 12)
    plain = ChaCha20Poly1305(key).decrypt(nonce, ciphertext, receiver)
    need(derive(container, plain, "epoch", count=16) == epoch, "a wrapped key is not that of its epoch")
    return plain


# Records


def ending(reader):
    result = (reader.varint(), reader.u64(), reader.take(16))
    need(result[0] < 1 << 48, "a sequence number is too large")
    return result


def wraps(reader):
    result = [(reader.take(16), reader.take(32), reader.take(48)) for _ in range(reader.varint())]
    need(all(a[0] < b[0] for a, b in zip(result, result[1:])), "wraps are not in order")
    return result


class Record:
    def __init__(self, content, container):
        need(len(content) <= 1 << 20, "a record is too long")
        reader = Reader(content)
        need(reader.take(8) == b"FRYR\x01\0\0\0", "it is no record")
        need(reader.take(16) == container, "it is another container's")
        self.author, self.time, self.genesis = reader.take(16), reader.u64(), reader.take(32)
        self.follows = [reader.take(32) for _ in range(reader.varint())]
        need(all(a < b for a, b in zip(self.follows, self.follows[1:])), "hashes are not in order")
        self.acts = []
        for _ in range(reader.varint()):
            kind = reader.u8()
            length = reader.varint()
            self.acts.append(self.act(kind, Reader(reader.take(length)), content, reader.position - length, container))
        need(1 <= len(self.acts) <= 64, "it has no acts, or too many")
        self.signed, self.signature = content[: reader.position], reader.take(64)
        need(reader.position == len(content), "it goes on after its end")
        self.hash = sha256(self.signed)
        self.is_first = self.genesis == ZERO
        need(self.is_first == (not self.follows) == (self.acts[0][0] == "found"), "only the first record founds")

    def act(self, kind, reader, content, start, container):
        if kind == 1:
            recovery, signature = (reader.take(32), reader.take(32)), reader.take(64)
            if recovery != (ZERO, ZERO):
                check_keys(*recovery)
                need(is_signed(recovery[0], signature, "found", content[: start + 64]), "recovery did not sign")
            founder = (reader.take(32), reader.take(32))
            check_keys(*founder)
            need(device_id(container, *founder) == self.author, "the founder is another")
            result = ("found", recovery, founder, [(reader.take(16), ending(reader)) for _ in range(reader.varint())])
        elif kind == 2:
            way, device, keys = reader.u8(), reader.take(16), (reader.take(32), reader.take(32))
            check_keys(*keys)
            need(device_id(container, *keys) == device, "an ID is not that of its keys")
            need((way == 3) == (self.author == RECOVERY), "the recovery key has a way of its own")
            result = ("admit", way, device, keys, reader.take(32), reader.take(32))
        elif kind == 3:
            result = ("remove", reader.take(16))
        elif kind == 4:
            result = ("leave", ending(reader))
        elif kind == 5:
            result = ("accept", reader.take(16), ending(reader))
        elif kind == 6:
            number, epoch, receivers = reader.varint(), reader.take(16), wraps(reader)
            ring = reader.take(len(reader.content) - reader.position)
            result = ("epoch", number, epoch, receivers, ring)
        elif kind == 7:
            result = ("grant", reader.take(16), wraps(reader))
        else:
            raise Damaged("an act is from a later Ferry")
        need(reader.position == len(reader.content), "an act goes on after its end")
        return result

    def of(self, name):
        return [act for act in self.acts if act[0] == name]


# Members: the rules of Docs/Sealing.md, over sets of hashes


class Membership:
    def __init__(self, records, genesis):
        self.all, self.genesis, self.pasts = records, genesis, {}
        self.recovery, self.records = None, {}
        while True:
            fresh = [h for h, r in records.items() if h not in self.records and self.counts(r)]
            if not fresh:
                break
            for digest in fresh:
                self.records[digest] = records[digest]
        self.scope = frozenset(self.records)

    def past(self, digest):
        if digest not in self.pasts:
            follows = self.records[digest].follows
            self.pasts[digest] = frozenset(follows).union(*(self.past(f) for f in follows))
        return self.pasts[digest]

    def counts(self, record):
        if not all(follows in self.records for follows in record.follows):
            return False
        if record.is_first:
            found = record.acts[0]
            if record.hash != self.genesis or not is_signed(found[2][0], record.signature, "record", record.signed):
                return False
            self.recovery = found[1] if found[1] != (ZERO, ZERO) else None
            return True
        if record.genesis != self.genesis:
            return False
        past = frozenset(record.follows).union(*(self.past(f) for f in record.follows))
        if record.author == RECOVERY:
            keys = self.recovery
        else:
            keys = self.keys_in(past).get(record.author)
            if keys and not self.is_member(record.author, past):
                return False
        return bool(keys) and is_signed(keys[0], record.signature, "record", record.signed)

    def keys_in(self, scope):
        keys = {}
        for record in (self.records[h] for h in scope):
            for act in record.of("found"):
                keys[record.author] = act[2]
            for act in record.of("admit"):
                keys[act[2]] = act[3]
        return keys

    def seats(self, device, scope, seen=frozenset()):
        seats = set()
        for digest in scope if device not in seen else ():
            record = self.records[digest]
            if record.of("found") and record.author == device:
                seats.add(digest)
            for act in record.of("admit"):
                if act[2] == device and (act[1] != 4 or self.stands(digest, scope)):
                    seats |= self.seats(record.author, scope, seen | {device}) if act[1] == 4 else {digest}
        return {seat for seat in seats if not seats & self.past(seat)}

    def is_named(self, device, scope):
        return device in self.keys_in(scope)

    def may_remove(self, author, device, past):
        if author == RECOVERY:
            return self.is_named(device, past)
        own, others = self.seats(author, past), self.seats(device, past)
        # A device that only copies name which do not stand has no seat: nobody is older than it.
        if not others:
            return False
        return own == others or any(all(seat in self.past(o) for o in others) for seat in own)

    def removals(self, device, scope):
        return [
            h for h in scope
            if any(a[1] == device for a in self.records[h].of("remove"))
            and self.may_remove(self.records[h].author, device, self.past(h))
        ]

    def leavings(self, device, scope):
        return [h for h in scope if self.records[h].author == device and self.records[h].of("leave")]

    def stands(self, digest, scope):
        author = self.records[digest].author
        gone = [] if author == RECOVERY else self.removals(author, scope) + self.leavings(author, scope)
        return all(digest == other or digest in self.past(other) for other in gone)

    def admitted(self, scope):
        standing = [self.records[h] for h in scope if self.stands(h, scope)]
        admitted, before = set(), -1
        while len(admitted) > before:
            before = len(admitted)
            for record in standing:
                if record.of("found"):
                    admitted.add(record.author)
                if record.author == RECOVERY or record.author in admitted:
                    admitted |= {act[2] for act in record.of("admit")}
        return admitted

    def is_member(self, device, scope):
        return device in self.admitted(scope) and not self.removals(device, scope) + self.leavings(device, scope)

    def former(self):
        return {device: end for device, end in self.records[self.genesis].acts[0][3]}

    def is_out(self, device, scope):
        if device in self.former() or self.removals(device, scope):
            return True
        return self.is_named(device, scope) and device not in self.admitted(scope)

    def end(self, device):
        ends = [self.former()[device]] if device in self.former() else []
        admitted = self.admitted(self.scope)
        for digest in self.scope:
            record = self.records[digest]
            for act in record.of("accept"):
                if act[1] == device and self.is_out(device, self.past(digest)) and self.stands(digest, self.scope):
                    if record.author == RECOVERY or record.author in admitted:
                        ends.append(act[2])
        return max(ends, default=None)

    def roster(self):
        members, left, out = {}, {}, {}
        keys = self.keys_in(self.scope)
        for device in set(keys) | set(self.former()):
            leavings = self.leavings(device, self.scope)
            if self.is_out(device, self.scope):
                out[device] = self.end(device)
            elif leavings:
                left[device] = max(self.records[h].of("leave")[0][1] for h in leavings)
            else:
                members[device] = keys[device]
        return members, left, out, self.current(set(members))

    def numbers(self, scope):
        """The epoch acts that count, by the records that made them."""
        numbers = {}
        for digest in sorted(scope, key=lambda h: len(self.past(h))):
            for act in self.records[digest].of("epoch"):
                past = [numbers[h] for h in self.past(digest) if h in numbers]
                if act[1] == max((n for n, _ in past), default=0) + 1 and act[2] not in {e for _, e in past}:
                    numbers[digest] = (act[1], act[2])
        return numbers

    def current(self, members):
        numbers, holders = self.numbers(self.scope), {}
        for digest, (_, epoch) in numbers.items():
            record = self.records[digest]
            holders[digest] = {record.author} | {w[0] for w in record.of("epoch")[0][3]}
            for other in self.scope:
                for act in self.records[other].of("grant"):
                    if act[1] == epoch and (other == digest or digest in self.past(other)):
                        holders[digest] |= {self.records[other].author} | {w[0] for w in act[2]}
        dirty = {h for h in holders if not holders[h] <= members | {RECOVERY}}
        dirty |= {h for h in holders if any(h in self.past(later) for later in dirty)}
        names = {numbers[h][1] for h in dirty}
        return max((numbers[h] for h in numbers if numbers[h][1] not in names), default=None)

    def heads(self):
        followed = {f for record in self.records.values() for f in record.follows}
        return sorted(h for h in self.records if h not in followed)


def varint(number):
    result = b""
    while number >= 0x80:
        result, number = result + bytes([number & 0x7F | 0x80]), number >> 7
    return result + bytes([number])


def roster_digest(members, left, out, epoch):
    def told(ends):
        result = varint(len(ends))
        for device in sorted(ends):
            sequence, time, name = ends[device] or (0, 0, bytes(16))
            result += device + varint(sequence) + struct.pack("<Q", time) + name
        return result

    content = varint(len(members)) + b"".join(d + members[d][0] + members[d][1] for d in sorted(members))
    return sha256(content + told(left) + told(out) + (epoch[1] if epoch else bytes(16)))


# Key files, epochs, envelopes


def key_file(content):
    need(len(content) >= 157 and content[:8] == b"FRYK\x01\0\0\0", "it is no key file")
    need(checksum(content[:-16]) == content[-16:], "its checksum is wrong")
    reader = Reader(content[8:-16])
    container, device, signing, box = reader.take(16), reader.take(16), reader.take(32), reader.take(32)
    private = X25519PrivateKey.from_private_bytes(box)
    raw = (Encoding.Raw, PublicFormat.Raw)
    public = (
        Ed25519PrivateKey.from_private_bytes(signing).public_key().public_bytes(*raw),
        private.public_key().public_bytes(*raw),
    )
    need(device_id(container, *public) == device, "its keys are another device's")
    genesis, highest = reader.take(32), reader.u32()
    invitations = [reader.take(104) for _ in range(reader.varint())]
    need(reader.position == len(reader.content), "it goes on after its end")
    return container, device, private, genesis, highest, len(invitations)


def epochs(membership, container, device, private):
    """All epochs that a device has: by wraps, and by the rings of those."""
    secrets, rings = {}, {}
    for record in membership.records.values():
        for act in record.of("epoch") + record.of("grant"):
            epoch, receivers = (act[2], act[3]) if act[0] == "epoch" else (act[1], act[2])
            if act[0] == "epoch":
                rings[epoch] = act[4]
            for receiver, enc, ciphertext in receivers:
                if receiver == device:
                    secrets[epoch] = open_wrap(private, container, epoch, receiver, enc, ciphertext)
    rest = list(secrets)
    while rest:
        epoch = rest.pop()
        key = derive(container, secrets[epoch], "ring", epoch)
        reader = Reader(AESGCM(key).decrypt(rings[epoch][:12], rings[epoch][12:], None))
        for _ in range(reader.varint()):
            name, secret = reader.take(16), reader.take(32)
            need(derive(container, secret, "epoch", count=16) == name, "a ring has a false secret")
            if name not in secrets:
                secrets[name] = secret
                rest.append(name)
    return secrets


def padded(length):
    if length <= 256:
        return 256
    exponent = length.bit_length() - 1
    mask = (1 << (exponent - exponent.bit_length())) - 1
    return length + mask & ~mask


def envelope(content, kind, container, device, keys, secrets):
    """The plain file, and the epoch; `None` in its place where the epoch's secret is not known."""
    need(content[:5] == b"FRYX\x01" and len(content) >= 192, "it is no sealed file")
    need(content[5:8] == bytes([kind, 0, 0]), "it is of another kind")
    need(content[8:40] == container + device, "it belongs elsewhere")
    epoch, seed, commitment = content[40:56], content[56:88], content[88:120]
    need(struct.unpack("<Q", content[120:128])[0] == len(content) - 192, "its length is wrong")
    need(keys is not None, "its device is no member")
    need(is_signed(keys[0], content[-64:], "file", content[:-64]), "its signature is wrong")
    if epoch not in secrets:
        return None, epoch
    both = derive(container, secrets[epoch], "file", content[:88], 64)
    need(both[32:] == commitment, "its key is not that of its epoch")
    pieces, stream = content[128:-64], b""
    count = -(-len(pieces) // 65552)
    for number in range(count):
        nonce = number.to_bytes(11, "big") + bytes([number == count - 1])
        piece = pieces[number * 65552 : (number + 1) * 65552]
        need(len(piece) > 16, "its last piece is empty")
        stream += AESGCM(both[:32]).decrypt(nonce, piece, None)
    need(seed == mac(derive(container, secrets[epoch], "seed"), content[:56] + stream), "its seed is wrong")
    length = struct.unpack("<Q", stream[:8])[0]
    need(len(stream) == padded(8 + length) and not any(stream[8 + length :]), "its padding is wrong")
    return stream[8 : 8 + length], epoch


def name_hash(container, secret, kind, device, plain):
    return mac(derive(container, secret, "name"), bytes([kind]) + device + plain[-16:])[: 16 if kind == 4 else 8]


# The folder


PROQUINT = ("bdfghjklmnprstvz", "aiou")


def words(content):
    def word(bits):
        con, vow = PROQUINT
        return con[bits >> 12] + vow[bits >> 10 & 3] + con[bits >> 6 & 15] + vow[bits >> 4 & 3] + con[bits & 15]

    return " ".join(word(int.from_bytes(content[i : i + 2], "big")) for i in range(0, len(content), 2))


def claim_line(content, container):
    need(len(content) == 240 and content[:5] == b"FRYJ\x01" and content[5] in (1, 2), "it is no claim")
    need(content[6:8] == b"\0\0" and content[8:24] == container, "it is no claim here")
    signing, box = content[40:72], content[72:104]
    check_keys(signing, box)
    need(device_id(container, signing, box) == content[24:40], "its ID is not that of its keys")
    need(is_signed(signing, content[176:], "claim", content[:176]), "its signature is wrong")
    told = words(label_hash("words", content[104:136], content[:144])[:12])
    return f"claim {content[24:40].hex()} way {content[5]} hash {sha256(content[:176]).hex()} words {told}"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def told_end(end):
    return f"{end[0]} {end[1]} {end[2].hex()}" if end else "none"


def look(folder, key_paths, plain_folder):
    description = json.loads(read(os.path.join(folder, "container.json")))
    need(description["sealing"] == "ferry-1", "it is not sealed")
    container, genesis = bytes.fromhex(description["id"].replace("-", "")), bytes.fromhex(description["genesis"])
    devices = sorted(os.listdir(os.path.join(folder, "devices")))
    records, claims, files = {}, [], []
    for device in devices:
        for place, _, names in os.walk(os.path.join(folder, "devices", device)):
            for name in sorted(names):
                path = os.path.join(place, name)
                if name.endswith(".record"):
                    record = Record(read(path), container)
                    need(name == record.hash[:16].hex() + ".record", "a record has another's name")
                    records[record.hash] = record
                elif name == "claim":
                    claims.append(claim_line(read(path), container))
                else:
                    kind = KINDS[name if name == "head" else os.path.splitext(name)[1]]
                    files.append((os.path.relpath(path, folder), kind, bytes.fromhex(device), read(path)))
    membership = Membership(records, genesis)
    members, left, out, _ = membership.roster()
    yield from membership_lines(membership)
    yield from claims
    keys = membership.keys_in(membership.scope)
    for key_path in key_paths:
        own, device, private, pinned, highest, invitations = key_file(read(key_path))
        need(own == container and pinned == genesis, "a key file is another container's")
        yield f"key file of {device.hex()} epoch {highest} invitations {invitations}"
        secrets = epochs(membership, container, device, private)
        for path, kind, author, content in sorted(files):
            try:
                readable = keys[author] if author in members or author in left else None
                plain, name = envelope(content, kind, container, author, readable, secrets)
            except Damaged as refusal:
                yield f"file {path} refused: {refusal}"
                continue
            if plain is None:
                yield f"file {path} epoch {name.hex()} unknown"
                continue
            need(plain[-16:] == checksum(plain[:-16]), "a plain file's checksum is wrong")
            if kind != 2:
                told = os.path.splitext(os.path.basename(path))[0].split("-")[-1]
                need(told == name_hash(container, secrets[name], kind, author, plain).hex(), "a file has another's name")
            yield f"file {path} epoch {name.hex()} bytes {len(plain)} sha256 {sha256(plain).hex()}"
            if plain_folder:
                target = os.path.join(plain_folder, path)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as file:
                    file.write(plain)


def membership_lines(membership):
    members, left, out, epoch = membership.roster()
    for digest in sorted(membership.records):
        record = membership.records[digest]
        kinds = " ".join(act[0] for act in record.acts)
        yield f"record {digest.hex()} by {record.author.hex()} at {record.time} follows {len(record.follows)}: {kinds}"
    yield f"records that do not count: {len(membership.all) - len(membership.records)}"
    for device in sorted(members):
        yield f"member {device.hex()} {members[device][0].hex()} {members[device][1].hex()}"
    for device in sorted(left):
        yield f"left {device.hex()} {told_end(left[device])}"
    for device in sorted(out):
        yield f"out {device.hex()} {told_end(out[device])}"
    yield f"epoch {epoch[0]} {epoch[1].hex()}" if epoch else "no epoch"
    yield f"roster {roster_digest(members, left, out, epoch).hex()}"
    yield f"heads {sha256(b''.join(membership.heads())).hex()}"


# Archives


def sealed_length(count):
    stream = padded(8 + count)
    return 192 + stream + 16 * -(-stream // 65536)


def look_archive(path, key_paths, plain_path):
    content = read(path)
    version = content[4]
    need(content[:4] == b"FRYA" and version in (2, 4) and content[5:8] == bytes(3), "it is no sealed archive")
    need(content[-4:] == b"FRYA" and len(content) >= 68, "it ends too early")
    container, end = content[8:24], len(content) - (36 if version == 2 else 44)
    place, length, records_place, records_length = struct.unpack("<4Q", content[-36:-4])
    packs = place if version == 2 else struct.unpack("<Q", content[end : end + 8])[0]
    need(24 <= packs <= place and place + length == records_place, "its lengths differ")
    need(records_place + records_length == end, "its lengths differ")
    reader = Reader(content[records_place:end])
    records = [Record(reader.take(reader.varint()), container) for _ in range(reader.varint())]
    need(reader.position == records_length and records and records[0].is_first, "its records are no membership's")
    membership = Membership({record.hash: record for record in records}, records[0].hash)
    members, left, _, _ = membership.roster()
    yield from membership_lines(membership)
    keys, sealed = membership.keys_in(membership.scope), content[place:records_place]
    author = sealed[24:40]
    readable = keys[author] if author in members or author in left else None
    for key_path in key_paths:
        own, device, private, pinned, _, _ = key_file(read(key_path))
        need(own == container and pinned == records[0].hash, "a key file is another container's")
        secrets = epochs(membership, container, device, private)
        manifest, epoch = envelope(sealed, 3, container, author, readable, secrets)
        need(manifest is not None, "it is sealed under an epoch that is not known")
        yield f"archive by {author.hex()} epoch {epoch.hex()} manifest sha256 {sha256(manifest).hex()}"
        chunks, start, plain = [], 24, b""
        for _ in read_manifest(manifest, chunks):
            pass
        for name, count in chunks:
            file, told = envelope(
                content[start : start + sealed_length(count)], 4, container, author, readable, secrets)
            need(told == epoch and len(file) == count and file[-16:].hex() == name, "a chunk is another")
            yield f"chunk {name} bytes {count} sha256 {sha256(file).hex()}"
            plain += file
            start += sealed_length(count)
        need(start == packs, "its chunks are not all there")
        yield from archived_packs(content, packs, place)
        if plain_path:
            with open(plain_path, "wb") as file:
                head = b"FRYA\x01\0\0\0" + container + plain
                file.write(head + manifest + struct.pack("<2Q", len(head), len(manifest)) + b"FRYA")


def main():
    arguments, plain_folder = sys.argv[1:], None
    if "--plain" in arguments:
        place = arguments.index("--plain")
        plain_folder = arguments[place + 1]
        del arguments[place : place + 2]
    reading = look
    if arguments[0] == "--archive":
        reading = look_archive
        del arguments[0]
    try:
        for line in reading(arguments[0], arguments[1:], plain_folder):
            print(line)
    except (Damaged, InvalidTag, KeyError, IndexError, ValueError) as error:
        sys.exit(f"{arguments[0]} is damaged: {type(error).__name__} {error}")


if __name__ == "__main__":
    main()
