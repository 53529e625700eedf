/// The kinds of files that a sealed container seals. The raw value stands in the envelope and goes into names.
package enum FileKind: UInt8, CaseIterable, Hashable, Sendable {
    case segment = 1
    case head = 2
    case manifest = 3
    case chunk = 4
    /// A part of a large value. (5 begins a sealed pack, which is no envelope.)
    case part = 6

    /// A longer content of the kind is neither sealed nor opened, in bytes.
    package var maximumContentBytes: Int { self == .head ? 1 << 18 : 1 << 28 }

    /// A longer sealed file of the kind is damaged, in bytes: the content, its padding, tags, header and signature are less.
    package var maximumFileBytes: Int { maximumContentBytes + (self == .head ? 1 << 14 : 1 << 24) }
}
