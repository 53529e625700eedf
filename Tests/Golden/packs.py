#!/usr/bin/env python3
"""Reads packs and lists of contents as Docs/Format.md ("Packs", "Lists of contents") describes them, and shares no code with Ferry.

    packs.py PACK
    packs.py --list LIST CONTAINER
    packs.py --sealed PACK EPOCH SIGNING BOX
    packs.py --cut CONTENT CONTAINER

Prints what a file says, one fact a line. Each chunk is proved by its ID, and a sealed pack by its signature. CONTAINER is an ID,
EPOCH an epoch's secret, SIGNING and BOX the public keys of the device, all as hexadecimal digits. Where a file breaks the format, it
says so and ends with status 1. Sealed packs need the package `cryptography` (Debian: python3-cryptography).
"""

import hashlib
import hmac
import os
import struct
import sys
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from read import Damaged, Reader, checksum, need  # noqa: E402  Primitives and checksums.

CONTENT = 1 << 40
INLINE = 1 << 16
CHUNK = 1 << 23
CHUNKS = 1 << 21
LIST = 1 << 26
FILES = 1 << 17
PACK = 32 << 20
PACK_CHUNKS = 1 << 16
RATIO = 1100


def mac(key, content):
    return hmac.new(key, content, hashlib.sha256).digest()


def open_key(container):
    return hashlib.sha256(b"ferry content 1" + container).digest()


def varint(number):
    result = b""
    while number >= 0x80:
        result, number = result + bytes([number & 0x7F | 0x80]), number >> 7
    return result + bytes([number])


# Lists


def body(reader, totals):
    """The chunks or the bytes of one file, which are all that is left of the reader."""
    form = reader.u8()
    rest = len(reader.content) - reader.position
    if form == 0:
        need(rest <= INLINE, "too many bytes stand in a list")
        totals["bytes"] += rest
        return reader.take(rest)
    need(form == 1 and rest, "a list has an unknown form, or no chunk")
    chunks = []
    while reader.position < len(reader.content):
        chunks.append((reader.take(16), reader.varint()))
        need(1 <= chunks[-1][1] <= CHUNK, "a chunk has an impossible length")
        totals["chunks"] += 1
        totals["bytes"] += chunks[-1][1]
        need(totals["chunks"] <= CHUNKS and totals["bytes"] <= CONTENT, "a list is beyond the limits")
    return chunks


def content_id(key, parts):
    if isinstance(parts, bytes):
        parts = [(mac(key, parts)[:16], len(parts))] if parts else []
    size = sum(count for _, count in parts)
    return mac(key, b"\1" + struct.pack("<Q", size) + b"".join(id + varint(count) for id, count in parts))[:16]


def described(parts):
    if isinstance(parts, bytes):
        return ["bytes " + parts.hex()]
    return [f"chunk {id.hex()} {count}" for id, count in parts]


def path_rank(path):
    return path.replace(b"/", b"\0")


def content_list(content, container):
    need(len(content) <= LIST, "a list is too long")
    key, totals = open_key(container), {"bytes": 0, "chunks": 0}
    if content[:1] != b"\2":
        parts = body(Reader(content), totals)
        return described(parts) + [f"size {totals['bytes']}", "content " + content_id(key, parts).hex()]
    reader, lines, hashed, before = Reader(content[1:]), [], b"", None
    count = reader.varint()
    need(count <= FILES, "a package has too many files")
    for _ in range(count):
        path = reader.counted()
        path.decode("utf-8")
        names = path.split(b"/")
        need(len(path) <= 4096 and b"\0" not in path, "a path is too long, or has a zero byte")
        need(all(1 <= len(name) <= 255 and name not in (b".", b"..") for name in names), "a path leads elsewhere")
        need(before is None or path_rank(before) < path_rank(path), "the paths are not in order")
        need(before is None or not path.startswith(before + b"/"), "a file lies below a file")
        before, mark = path, reader.u8()
        need(mark <= 1, "a file has an unknown mode")
        modified = reader.zigzag()
        parts = body(Reader(reader.counted()), totals)
        lines.append(f"file {path.decode()} {'executable' if mark else 'plain'} {modified}")
        lines += described(parts)
        time = modified << 1 if modified >= 0 else -modified * 2 - 1
        hashed += varint(len(path)) + path + bytes([mark]) + varint(time) + content_id(key, parts)
    reader.end()
    id = mac(key, b"\2" + struct.pack("<Q", totals["bytes"]) + hashed)[:16]
    return lines + [f"size {totals['bytes']}", "content " + id.hex()]


# Where contents are cut


def cut(content, container):
    gear_key, mask, start, lines = mac(open_key(container), b"ferry gear 1"), (1 << 64) - 1, 0, []
    gear = [number for block in range(64) for number in struct.unpack("<4Q", mac(gear_key, bytes([block])))]
    while start < len(content):
        most = min(len(content) - start, 2097152)
        end, rolling = start + most, 0
        if most > 131072:
            for place in range(131008, most):
                rolling = (rolling << 1) + gear[content[start + place]] & mask
                if place >= 131071 and rolling >> (64 - (17 if place >= 524288 else 21)) == 0:
                    end = start + place + 1
                    break
        lines.append(f"chunk {mac(open_key(container), content[start:end])[:16].hex()} {end - start}")
        start = end
    return lines


# Packs


def directory(content, start, end):
    reader, offset, entries = Reader(content), start, []
    count = reader.varint()
    need(1 <= count <= PACK_CHUNKS, "a pack has an impossible number of chunks")
    for _ in range(count):
        id, form, stored, length = reader.take(16), reader.u8(), reader.varint(), reader.varint()
        need(form <= 1 and 1 <= length <= CHUNK and stored >= 1, "a chunk has impossible lengths")
        need(all(id != entry[0] for entry in entries), "a chunk is there twice")
        entries.append((id, form, offset, stored, length))
        offset += stored
    reader.end()
    need(offset == end, "the chunks do not end where the directory begins")
    return entries


def proved(key, entry, stored):
    id, form, offset, length = entry[0], entry[1], entry[2], entry[4]
    if form == 1:
        need(length <= len(stored) * RATIO, "a chunk is too long")
        inflater = zlib.decompressobj()
        chunk = inflater.decompress(stored, length + 1)
        need(inflater.eof and not inflater.unused_data, "a chunk cannot be decompressed")
    else:
        chunk = stored
    need(len(chunk) == length and mac(key, chunk)[:16] == id, "a chunk is not what its ID says")
    form = "zlib" if form else "plain"
    return f"chunk {id.hex()} {form} at {offset} stored {entry[3]} bytes {length}"


def pack(content):
    need(len(content) <= PACK and content[:8] == b"FRYP\1\0\0\0", "it is no pack of version 1")
    need(len(content) > 64, "it ends too early")
    container, device = content[8:24], content[24:40]
    place = struct.unpack("<Q", content[-24:-16])[0]
    need(40 < place < len(content) - 24, "its directory is nowhere in it")
    need(checksum(content[:40] + content[place:-16]) == content[-16:], "its checksum is wrong")
    key = open_key(container)
    lines = [f"pack {content[-16:].hex()} of {container.hex()} {device.hex()}"]
    for entry in directory(content[place:-24], 40, place):
        lines.append(proved(key, entry, content[entry[2] : entry[2] + entry[3]]))
    return lines


def sealed_pack(content, secret, signing, box):
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from unseal import context, derive, device_id, is_signed

    def opened(part, meaning):
        need(part[:16] == epoch and len(part) > 64, "a part is of another epoch")
        seed, plain_key = part[16:48], derive(container, secret, "part", meaning + part[16:48])
        stream = AESGCM(plain_key).decrypt(bytes(11) + b"\1", part[48:], None)
        length = struct.unpack("<Q", stream[:8])[0]
        need(length <= len(stream) - 8 and not any(stream[8 + length :]), "a part is not filled up with zeros")
        need(len(stream) == padded(8 + length), "a part has a wrong length")
        seed_key = derive(container, secret, "seed")
        need(mac(seed_key, context("part") + bytes([len(meaning)]) + meaning + stream) == seed, "a seed is wrong")
        return stream[8 : 8 + length]

    need(len(content) <= PACK and content[:8] == b"FRYX\1\5\0\0", "it is no sealed pack of version 1")
    container, device, epoch = content[8:24], content[24:40], content[40:56]
    need(derive(container, secret, "epoch", count=16) == epoch, "it is of another epoch")
    need(device_id(container, signing, box) == device, "it is another device's")
    place = struct.unpack("<Q", content[-88:-80])[0]
    need(56 < place < len(content) - 88, "its directory is nowhere in it")
    need(checksum(content[:56] + content[place:-80]) == content[-80:-64], "its checksum is wrong")
    need(is_signed(signing, content[-64:], "pack", content[:56] + content[place:-64]), "its signature is wrong")
    key = derive(container, secret, "content")
    lines = [f"pack {content[-80:-64].hex()} of {container.hex()} {device.hex()}"]
    for entry in directory(opened(content[place:-88], b"directory" + device), 56, place):
        part = content[entry[2] : entry[2] + entry[3]]
        lines.append(proved(key, entry, opened(part, b"chunk" + device + entry[0] + bytes([entry[1]]))))
    return lines


def padded(length):
    if length <= 256:
        return 256
    exponent = length.bit_length() - 1
    step = 1 << exponent - exponent.bit_length()
    return -(-length // step) * step


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--list":
        return content_list(read(arguments[1]), bytes.fromhex(arguments[2]))
    if len(arguments) == 3 and arguments[0] == "--cut":
        return cut(read(arguments[1]), bytes.fromhex(arguments[2]))
    if len(arguments) == 5 and arguments[0] == "--sealed":
        return sealed_pack(read(arguments[1]), *map(bytes.fromhex, arguments[2:]))
    if len(arguments) == 1:
        return pack(read(arguments[0]))
    sys.exit(__doc__)


if __name__ == "__main__":
    try:
        print("\n".join(main(sys.argv[1:])))
    except (Damaged, UnicodeDecodeError, zlib.error) as error:
        print(f"damaged: {error}")
        sys.exit(1)
