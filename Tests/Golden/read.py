#!/usr/bin/env python3
"""Reads Ferry's files as Docs/Format.md describes them, and shares no code with Ferry.

    read.py FILE...

Prints what each file says, one fact a line: a segment, the manifest or a chunk of a snapshot, a part of a large value, a head,
an archive. The parts of large values are read from the folder that the file lies in. The tests hold that against what Ferry reads. Where a file breaks the format, it says so and ends with status 1. It needs
nothing but Python's own library.
"""

import hashlib
import os
import struct
import sys
import zlib

NAMESPACE = b"ferry-checksum-1"
LATEST = ((1 << 47) - (1 << 37)) << 16
MASK = (1 << 64) - 1
# The most bytes of texts and blobs, each as often as it stands: in a segment, and in a chunk beside those of its body.
SEGMENT_CONTENTS = 1 << 36
REPEATED_CONTENTS = 1 << 26


class Damaged(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Damaged(what)


def checksum(content):
    digest = bytearray(hashlib.sha1(NAMESPACE + content).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50
    digest[8] = digest[8] & 0x3F | 0x80
    return bytes(digest)


def unzigzag(number):
    return number >> 1 ^ -(number & 1)


def signed(number):
    number &= MASK
    return number - (1 << 64) if number >> 63 else number


# Primitives


class Reader:
    def __init__(self, content):
        self.content, self.position = content, 0

    def take(self, count):
        need(0 <= count <= len(self.content) - self.position, "it ends too early")
        self.position += count
        return self.content[self.position - count : self.position]

    def u8(self):
        return self.take(1)[0]

    def u32(self):
        return struct.unpack("<I", self.take(4))[0]

    def u64(self):
        return struct.unpack("<Q", self.take(8))[0]

    def i64(self):
        return struct.unpack("<q", self.take(8))[0]

    def varint(self):
        number = 0
        for place in range(10):
            byte = self.u8()
            need(place < 9 or byte <= 1, "a number is longer than 64 bits")
            number |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                return number

    def zigzag(self):
        return unzigzag(self.varint())

    def id(self):
        return self.take(16).hex()

    def counted(self):
        return self.take(self.varint())

    def string(self):
        return self.counted().decode("utf-8")

    def time(self):
        return in_range(self.varint())

    def end(self):
        need(self.position == len(self.content), "it goes on behind its end")


def in_range(time):
    need(0 <= time <= LATEST, "a time is out of range")
    return time


# Values, as what is printed of them


def written(tag, content):
    if tag == 0:
        return "null"
    if tag == 1:
        return f"integer {content}"
    if tag == 2:
        return f"real {content:016x}"
    return ("text ", "blob ", "reference ")[tag - 3] + content.hex()


# Columns


def runs(reader, count):
    numbers = []
    while len(numbers) < count:
        number, times = reader.varint(), reader.varint()
        need(1 <= times <= count - len(numbers), "a run has a wrong length")
        numbers += [number] * times
    return numbers


def integers(reader, count):
    if count == 0:
        return []
    form = reader.u8()
    if form == 0:
        return [reader.zigzag()] * count
    need(form in (1, 2), "a column of integers has an unknown form")
    shift = reader.u8()
    need(shift < 64, "a column of integers has a wrong step")
    first = reader.zigzag()
    if form == 1:
        return [signed(first + (reader.varint() << shift)) for _ in range(count)]
    numbers = [first]
    for _ in range(count - 1):
        numbers.append(signed(numbers[-1] + (reader.zigzag() << shift)))
    return numbers


def reals(reader, count):
    """The bits of each."""
    if count == 0:
        return []
    form = reader.u8()
    if form == 255:
        return [reader.u64() for _ in range(count)]
    need(form <= 9, "a column of reals has an unknown form")
    numbers = integers(reader, count)
    need(all(abs(number) <= 1 << 53 for number in numbers), "a decimal number is too large")
    return [struct.unpack("<Q", struct.pack("<d", number / 10.0**form))[0] for number in numbers]


def plain_contents(reader, count):
    lengths = integers(reader, count)
    return [reader.take(length) for length in lengths]


def contents(reader, count):
    if count == 0:
        return []
    form = reader.u8()
    if form == 0:
        return plain_contents(reader, count)
    need(form == 1, "a column of texts has an unknown form")
    distinct = reader.varint()
    need(1 <= distinct <= count, "a column of texts has a wrong count")
    entries = plain_contents(reader, distinct)
    indices = integers(reader, count)
    need(all(0 <= index < distinct for index in indices), "an index is out of range")
    return [entries[index] for index in indices]


class Dictionaries:
    """What bodies begin with: names, devices and prefixes of object IDs; and how many bytes of contents there may be."""

    def __init__(self, contents=0):
        self.names, self.devices, self.prefixes, self.last = [], [], [], []
        self.contents = contents
        self.large = []

    def read_names(self, reader):
        self.names = [reader.string() for _ in range(reader.varint())]

    def read_devices(self, reader):
        self.devices = [reader.id() for _ in range(reader.varint())]
        need(all(a < b for a, b in zip(self.devices, self.devices[1:])), "its devices are not in order")

    def read_prefixes(self, reader):
        self.prefixes = [reader.take(12) for _ in range(reader.varint())]
        self.last = [0] * len(self.prefixes)

    def read_large(self, reader):
        """The large values, whose bytes lie in parts."""
        for _ in range(reader.varint()):
            pieces = []
            for _ in range(reader.varint()):
                name, length = reader.id(), reader.varint()
                piece = part_named(name)
                need(len(piece) == length, "a part has another length than it should")
                pieces.append(piece)
            need(pieces, "a large value has no parts")
            self.large.append(b"".join(pieces))
        need(self.large, "its list of large values is empty")
        self.contents += sum(map(len, self.large))

    def name(self, reader):
        index = reader.varint()
        need(index < len(self.names), "an index is out of range")
        return self.names[index]

    def name_list(self, reader):
        return [self.name(reader) for _ in range(reader.varint())]

    def identity(self, reader):
        form = reader.u8()
        need(form <= 2, "an identity is unknown")
        if form == 0:
            return "surrogate"
        return ("key ", "declared ")[form - 1] + ", ".join(self.name_list(reader))

    def object_ids(self, reader, count):
        if count == 0:
            return []
        forms = runs(reader, count)
        steps = iter(integers(reader, sum(form > 0 for form in forms)))
        ids = []
        for form in forms:
            need(form <= len(self.prefixes), "an index is out of range")
            if form == 0:
                ids.append(None)
                continue
            self.last[form - 1] += next(steps)
            need(0 <= self.last[form - 1] < 1 << 32, "an object ID is out of range")
            ids.append(self.prefixes[form - 1] + self.last[form - 1].to_bytes(4, "big"))
        return [reader.take(16) if object is None else object for object in ids]

    def values(self, reader, objects):
        tags = runs(reader, len(objects))
        need(all(tag <= (10 if self.large else 8) for tag in tags), "a value has an unknown tag")
        whole = iter(integers(reader, tags.count(1)))
        broken = iter(reals(reader, tags.count(2)))
        found = contents(reader, tags.count(3) + tags.count(4))
        self.contents -= sum(map(len, found))
        need(self.contents >= 0, "it has too many bytes of texts and blobs")
        bytes_of = iter(found)
        references = iter(self.object_ids(reader, tags.count(5)))
        numbers = integers(reader, tags.count(9) + tags.count(10))
        need(all(0 <= number < len(self.large) for number in numbers), "an index is out of range")
        large = iter([self.large[number] for number in numbers])
        result = []
        for tag, object in zip(tags, objects):
            if tag == 6:
                result.append(written(4, object))
            elif tag == 7:
                digits = object.hex()
                text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
                result.append(written(3, text.encode()))
            elif tag == 8:
                result.append("-")
            elif tag > 8:
                result.append(written(tag - 6, next(large)))
            else:
                source = (None, whole, broken, bytes_of, bytes_of, references)[tag]
                result.append(written(tag, next(source) if source else None))
        return result

    def stamps(self, reader, count):
        """What is printed of each; None where it is absent."""
        forms = runs(reader, count)
        need(all(form <= len(self.devices) for form in forms), "an index is out of range")
        times = iter(integers(reader, sum(form > 0 for form in forms)))
        return [f"{in_range(next(times))} {self.devices[form - 1]}" if form else None for form in forms]


def ascending(reader):
    """A set of columns: a count, then each index less the index after the one before."""
    indices = []
    for _ in range(reader.varint()):
        indices.append(reader.varint() + (indices[-1] + 1 if indices else 0))
    return indices


def single_value(reader):
    """A value that stands by itself, as its tag and its content."""
    tag = reader.u8()
    need(tag <= 4, "a row of a migration tool holds a value of an unknown kind")
    read = (lambda: None, reader.zigzag, reader.u64, reader.counted, reader.counted)[tag]
    return written(tag, read())


def schema(form, dictionaries, reader):
    yield f"schema {reader.zigzag()} {reader.zigzag()}"
    for _ in range(reader.varint()):
        kind, name, table = (dictionaries.name(reader) for _ in range(3))
        yield f"statement {kind} {name} {table}: {reader.string()}"
    tracked = []
    for _ in range(reader.varint()):
        tracked.append(dictionaries.name(reader))
        yield f"tracked {tracked[-1]}: {dictionaries.identity(reader)}"
    if form in (2, 3, 4):
        for _ in range(reader.varint()):
            table, column, parent = (dictionaries.name(reader) for _ in range(3))
            yield f"reference {table}.{column}: {parent}"
    if form in (3, 4):
        for _ in range(reader.varint()):
            place, name = reader.varint(), dictionaries.name(reader)
            need(place < len(tracked), "a table with a past is not tracked")
            lists = [[dictionaries.name(reader) for _ in range(reader.varint())] for _ in range(2)]
            yield " ".join([f"past {tracked[place]}: {name}"] + lists[0] + ["by"] * bool(lists[1]) + lists[1])
            for _ in range(reader.varint()):
                column, local = dictionaries.name(reader), dictionaries.name(reader)
                yield f"column {tracked[place]}.{column}: {local}"
    if form == 4:
        for _ in range(reader.varint()):
            table = dictionaries.name(reader)
            columns = [dictionaries.name(reader) for _ in range(reader.varint())]
            yield f"bookkeeping {table}: {', '.join(columns)}"
            for _ in range(reader.varint()):
                yield "row " + ", ".join(single_value(reader) for _ in columns)


# Segments


def inflate(stored, length):
    stream = zlib.decompressobj()
    body = stream.decompress(stored, length + 1)
    need(stream.eof and not stream.unused_data and len(body) == length, "its body has a wrong length")
    return body


def body_of(compression, stored, length):
    need(compression <= 1, "its compression is unknown")
    if compression == 0:
        need(len(stored) == length, "its lengths do not match")
        return stored
    need(length <= 1100 * len(stored), "its lengths do not match")
    return inflate(stored, length)


def verified(content):
    need(len(content) > 16 and checksum(content[:-16]) == content[-16:], "its checksum is wrong")
    return Reader(content[:-16])


def or_none(id):
    return "-" if id == "0" * 32 else id


def segment(content):
    need(content[4] in (1, 2, 3, 4), "its version is unknown")
    reader = verified(content)
    reader.take(4)
    version, compression, flags = reader.u8(), reader.u8(), reader.u8()
    need(flags in {3: (1,), 4: (0, 1)}.get(version, (0,)) and reader.u8() == 0, "its flags make no sense")
    container, device = reader.id(), reader.id()
    first, last, last_time = reader.u64(), reader.u64(), reader.u64()
    previous, length, stored = reader.id(), reader.u64(), reader.u64()
    operations, values = reader.u32(), reader.u32()
    tail = reader.id() if flags else "-"
    body = Reader(body_of(compression, reader.take(stored), length))
    reader.end()
    yield f"segment {container} {device} {first} to {last} at {last_time}"
    yield f"after {or_none(previous)} tail {tail} with {operations} operations, {values} values"
    dictionaries = Dictionaries(SEGMENT_CONTENTS)
    dictionaries.read_names(body)
    dictionaries.read_devices(body)
    dictionaries.read_prefixes(body)
    layouts = [layout(version, dictionaries, body) for _ in range(body.varint())]
    if version >= 4:
        dictionaries.read_large(body)
    time, context, counts = 0, {}, [0, 0]
    for sequence in range(first, last + 1):
        time += body.varint()
        yield f"changeset {sequence} at {time}"
        for _ in range(body.varint()):
            index = body.varint()
            need(index < len(dictionaries.devices), "an index is out of range")
            position = (body.varint(), body.time())
            context[dictionaries.devices[index]] = position
            if position == (0, 0):
                del context[dictionaries.devices[index]]
        for other in sorted(context):
            yield f"context {other} {context[other][0]} {context[other][1]}"
        form = body.u8()
        need(form <= 4, "a changeset has an unknown form")
        if form:
            yield from schema(form, dictionaries, body)
        for _ in range(body.varint()):
            index = body.varint()
            need(index < len(layouts), "an index is out of range")
            yield from table_block(layouts[index], time, dictionaries, counts, body)
    body.end()
    need(time == last_time and counts == [operations, values], "its content is not what its header says")


def layout(version, dictionaries, reader):
    name, identity = dictionaries.name(reader), dictionaries.identity(reader)
    columns = dictionaries.name_list(reader)
    if version >= 2:
        next_index = 0
        for _ in range(reader.varint()):
            index = next_index + reader.varint()
            need(index < len(columns), "an index is out of range")
            columns[index] += f" payload {reader.u8()}"
            next_index = index + 1
    return name, identity, columns


def table_block(layout, time, dictionaries, counts, reader):
    name, identity, columns = layout
    yield f"table {name}: {identity}"
    shapes = [ascending(reader) for _ in range(reader.varint())]
    count = reader.varint()
    if count == 0:
        return
    objects = dictionaries.object_ids(reader, count)
    kinds = runs(reader, count)
    need(all(1 <= kind <= 3 for kind in kinds), "an operation has an unknown kind")
    times = [in_range(time - less) for less in integers(reader, count)]
    numbers = runs(reader, count)
    need(all(number < len(shapes) for number in numbers), "an index is out of range")
    order = list(zip(objects, times))
    need(all(a <= b for a, b in zip(order, order[1:])), "its operations are not in order")
    keys = dictionaries.values(reader, objects)
    fields = [[] for _ in range(count)]
    for column, column_name in enumerate(columns):
        holders = [index for index in range(count) if column in shapes[numbers[index]]]
        found = dictionaries.values(reader, [objects[index] for index in holders])
        for index, value in zip(holders, found):
            need(value != "-", "a value is missing")
            fields[index].append(f"  {column_name}: {value}")
            counts[1] += 1
    counts[0] += count
    for index in range(count):
        kind = ("insert", "update", "delete")[kinds[index] - 1]
        yield f"{kind} {objects[index].hex()} at {times[index]} key {keys[index]}"
        yield from fields[index]


# Snapshots


def snapshot_body(content, newest):
    need(1 <= content[4] <= newest, "its version is unknown")
    reader = verified(content)
    reader.take(5)
    compression = reader.u8()
    need(reader.take(2) == b"\0\0", "its reserved bytes are not zero")
    container, length, stored = reader.id(), reader.u64(), reader.u64()
    body = Reader(body_of(compression, reader.take(stored), length))
    reader.end()
    return container, body


# Where parts lie that stand in no archive, and those that stand in one.
folder, archived_parts = [""], {}


def part_named(name):
    content = archived_parts.get(name)
    if content is None:
        with open(os.path.join(folder[0], name + ".part"), "rb") as file:
            content = file.read()
    need(content[-16:].hex() == name, "a part is another than it should be")
    return part_bytes(content)[1]


def part_bytes(content):
    need(content[:4] == b"FRYV", "it is no part of a large value")
    container, body = snapshot_body(content, 1)
    return container, body.take(len(body.content))


def part(content):
    """A part of a large value: what it says of itself, and the bytes."""
    container, found = part_bytes(content)
    yield f"part of {container}: {found.hex()}"


def manifest(content, found=None):
    container, body = snapshot_body(content, 4)
    dictionaries = Dictionaries()
    dictionaries.read_names(body)
    yield f"snapshot of {container}"
    for _ in range(body.varint()):
        device, sequence, time, last = body.id(), body.varint(), body.time(), body.id()
        late = body.varint() if content[4] > 1 else 0
        need(late <= sequence, "a sequence number is out of range")
        dictionaries.devices.append(device)
        if sequence:
            yield f"device {device} {sequence} {time} {or_none(last)}" + (f" late {late}" if late else "")
    for _ in range(body.varint()):
        author, other = (dictionaries.devices[body.varint()] for _ in range(2))
        yield f"context {author} {other} {body.time()} {body.time()}"
    form = body.u8()
    need(form <= 4, "its schema has an unknown form")
    if form:
        yield f"schema at {body.time()} {dictionaries.devices[body.varint()]}"
        yield from schema(form, dictionaries, body)
    for _ in range(body.varint()):
        yield f"table {dictionaries.name(body)}: {dictionaries.identity(body)}"
        for _ in range(body.varint()):
            chunk, length, objects = body.id(), body.varint(), body.varint()
            yield f"chunk {chunk} {length} bytes {objects} objects"
            parts = [(body.id(), body.varint()) for _ in range(body.varint())] if content[4] >= 4 else []
            for part, bytes_of_part in parts:
                yield f"part {part} {bytes_of_part} bytes"
            for file in parts + [(chunk, length)]:
                if found is not None and file not in found:
                    found.append(file)
    body.end()


def chunk(content):
    _, body = snapshot_body(content, 2)
    dictionaries = Dictionaries(len(body.content) + REPEATED_CONTENTS)
    dictionaries.read_names(body)
    dictionaries.read_devices(body)
    dictionaries.read_prefixes(body)
    if content[4] >= 2:
        dictionaries.read_large(body)
    yield f"chunk of {dictionaries.name(body)}: {dictionaries.identity(body)}"
    columns = []
    for _ in range(body.varint()):
        name, form = dictionaries.name(body), body.varint()
        need(form <= 1, "a column has an unknown form")
        columns.append(name + (" register" if form else ""))
    shapes = [ascending(body) for _ in range(body.varint())]
    count = body.varint()
    if count == 0:
        return body.end()
    objects = dictionaries.object_ids(body, count)
    need(all(a < b for a, b in zip(objects, objects[1:])), "its objects are not in order")
    inserted, deleted = dictionaries.stamps(body, count), dictionaries.stamps(body, count)
    further = runs(body, count)
    deletions = iter(dictionaries.stamps(body, sum(further)))
    numbers = runs(body, count)
    need(all(number < len(shapes) for number in numbers), "an index is out of range")
    keys = dictionaries.values(body, objects)
    fields = [[] for _ in range(count)]
    for column, column_name in enumerate(columns):
        holders = [index for index in range(count) if column in shapes[numbers[index]]]
        stamps = dictionaries.stamps(body, len(holders))
        found = dictionaries.values(body, [objects[index] for index in holders])
        for index, stamp, value in zip(holders, stamps, found):
            need((stamp or inserted[index]) and value != "-", "a field has no stamp")
            fields[index].append(f"  {column_name} at {stamp or inserted[index]}: {value}")
    body.end()
    for index in range(count):
        yield f"object {objects[index].hex()} key {keys[index]}"
        yield f"  inserted {inserted[index] or '-'}"
        yield f"  deleted {deleted[index] or '-'}"
        for _ in range(further[index]):
            yield f"  deleted {next(deletions)}"
        yield from fields[index]


def archive(content):
    version = content[4]
    need(version in (1, 3) and content[5:8] == bytes(3) and content[-4:] == b"FRYA", "its header makes no sense")
    footer = 20 if version == 1 else 28
    start, length = struct.unpack("<QQ", content[-20:-4])
    packs = start if version == 1 else struct.unpack("<Q", content[-28:-20])[0]
    need(24 <= packs <= start and start + length == len(content) - footer, "its lengths do not match")
    chunks = []
    yield from manifest(content[start : start + length], chunks)
    place = 24
    for name, size in chunks:
        file = content[place : place + size]
        need(file[-16:].hex() == name, "a chunk is another than it should be")
        if file[:4] == b"FRYV":
            archived_parts[name] = file
        else:
            yield from chunk(file)
        place += size
    need(place == packs, "its chunks are not all there")
    yield from archived_packs(content, packs, start)


def archived_packs(content, place, end):
    while place < end:
        need(end - place >= 40, "its packs make no sense")
        length = struct.unpack("<Q", content[place + 32 : place + 40])[0]
        need(1 <= length <= end - place - 40, "its packs make no sense")
        yield f"pack {content[place:place + 16].hex()} of {content[place + 16:place + 32].hex()}: {length} bytes"
        place += 40 + length


# Heads


def head(content):
    version = content[4]
    need(version in (1, 2, 3, 4, 5), "its version is unknown")
    reader = verified(content)
    reader.take(5)
    yield f"head of {reader.id()} {reader.id()} {reader.string()}"
    yield f"position {reader.varint()} {in_range(reader.u64())}"
    yield f"last segment from {reader.varint()} {or_none(reader.id())}"
    acknowledged = []
    for _ in range(reader.varint()):
        acknowledged.append(reader.id())
        yield f"acknowledged {acknowledged[-1]} {reader.varint()} {in_range(reader.u64())}"
    yield f"written {reader.i64()} by {reader.string()}"
    for _ in range(reader.varint() if version >= 2 else 0):
        yield f"digest {reader.u32()} {reader.u64()}"
    if version >= 3:
        yield f"log from {reader.varint()}"
        for _ in range(reader.varint()):
            yield f"retired {reader.id()} {reader.i64()}"
        form = reader.u8()
        need(form <= (1 if version < 4 else 2), "its predecessor is unknown")
        if form:
            yield f"predecessor {reader.id()} {reader.varint()}"
            if form == 2:
                yield f"predecessor's end {reader.varint()} {reader.id()}"
    if version >= 4:
        for _ in range(reader.varint()):
            yield f"missing {reader.id()}"
    if version >= 5:
        yield f"last segment named {reader.take(8).hex()}"
        for device in acknowledged:
            yield f"chain end {device} {reader.take(8).hex()}"
        yield f"oldest epoch {reader.varint()}"
        yield f"records {reader.varint()} {reader.take(32).hex()}"
        yield f"roster {reader.take(32).hex()}"
    reader.end()


KINDS = {b"FRYS": segment, b"FRYM": manifest, b"FRYC": chunk, b"FRYH": head, b"FRYA": archive, b"FRYV": part}


def main():
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            content = file.read()
        folder[:] = [os.path.dirname(path)]
        try:
            need(content[:4] in KINDS and len(content) > 40, "it is none of Ferry's files")
            for line in KINDS[content[:4]](content):
                print(line)
        except (Damaged, UnicodeDecodeError, zlib.error, IndexError, StopIteration) as error:
            sys.exit(f"{path} is damaged: {error}")


if __name__ == "__main__":
    main()
