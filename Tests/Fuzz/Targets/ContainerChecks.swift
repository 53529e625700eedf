import FerryCore

@testable import FerryContainer

func checkHead(_ input: [UInt8]) throws {
    let container: ContainerID = try id(input, at: 5)
    let device: DeviceID = try id(input, at: 21)
    let isSealed = input[4] == Head.sealedVersion
    let head = try Head(decoding: withChecksum(input), container: container, device: device, isSealed: isSealed)
    let again = try mustSucceed("writing what was read") { try head.encoded() }
    let second = try mustSucceed("reading what was written") {
        try Head(decoding: again, container: container, device: device, isSealed: isSealed)
    }
    try require(second == head, "the head changed")
    _ = head.lastSegment
}

func checkContainer(_ input: [UInt8]) throws {
    let description = try ContainerDescription(decoding: input)
    let again = try mustSucceed("writing what was read") { try description.encoded() }
    let second = try mustSucceed("reading what was written") { try ContainerDescription(decoding: again) }
    try require(second == description, "the description changed")
}

func checkNames(_ input: [UInt8]) throws {
    let text = String(decoding: input, as: UTF8.self)
    var isName = false
    if let name = SegmentName(text) {
        try require(name.fileName == text, "a segment has two names")
        isName = true
    }
    if let name = SegmentName(placeholder: text) {
        try require(".\(name.fileName).icloud" == text, "a placeholder has two names")
        isName = true
    }
    if let file = SegmentFile(fileName: text) {
        try require(SegmentFile(fileName: file.name.fileName)?.isCopy == false, "a copy of nothing")
        try require(file.isCopy == (file.fileName != file.name.fileName), "a copy is none")
        isName = true
    }
    if let name = SnapshotName(text) {
        try require(name.fileName == text, "a snapshot has two names")
        isName = true
    }
    if let name = RecordName(text) {
        try require(name.fileName == text, "a record has two names")
        isName = true
    }
    if let name = ChunkName(text) {
        try require(name.fileName == text, "a chunk has two names")
        isName = true
    }
    if let name = PackName(text) {
        try require(name.fileName == text, "a pack has two names")
        isName = true
    }
    if let device = DeviceID(text) {
        try require(DeviceID(device.hex) == device && DeviceID(device.description) == device, "an ID changed")
        isName = true
    }
    if !isName { throw Nothing() }
}
