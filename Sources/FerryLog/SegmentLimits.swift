/// The most that a segment may hold. The encoder refuses larger content (`limitExceeded`), and the decoder takes larger
/// content for damage. So no file makes a device use unbounded memory or time.
///
/// Together the limits bound a decoded segment's memory to its body, about 100 bytes for each operation and 40 for each
/// of `valuesAtOnce` values.
package enum SegmentLimits {
    /// Bytes of a whole file.
    package static let fileBytes = 256 << 20
    /// Bytes of a body before compression.
    package static let bodyBytes = 1 << 30
    /// How many times larger than its compressed form a body may be; zlib's own bound is about 1032.
    package static let bodyRatio = 1100
    /// Bytes of a text or blob that stands in a segment.
    package static let valueBytes = 128 << 20
    /// Bytes of a text or blob that lies in parts: a row of SQLite's has at most 1,000,000,000, and a hidden row is kept with some more.
    package static let largeValueBytes = 999_000_000
    /// Bytes of all large values of a segment or of a snapshot's chunk, each once: a reader has them in memory.
    package static let largeBytes = 1 << 30
    /// Bytes of a value in a part.
    package static let partBytes = 1 << 26
    /// Parts of all large values in a segment or in a snapshot's chunk.
    package static let parts = 1 << 16
    /// UTF-8 bytes of the name of a table, a column or a schema object.
    package static let nameBytes = 1024
    /// UTF-8 bytes of a statement of a schema.
    package static let statementBytes = 4 << 20
    /// Statements of a schema.
    package static let statements = 65_536
    /// Tables in a changeset, or tracked in a schema.
    package static let tables = 32_767
    /// References of a schema that no foreign key declares.
    package static let references = 32_767
    /// Columns of a table; SQLite's own maximum.
    package static let columns = 32_767
    /// Devices in a context.
    package static let contextDevices = 4096
    /// The largest sequence number; exact in every language's floating-point numbers.
    package static let sequence: UInt64 = 1 << 53
    /// Different names in a segment.
    package static let names = 1 << 20
    /// Columns of the different tables, identities included.
    package static let layoutColumns = 1 << 22
    /// Statements, tracked tables, undeclared references and values of migration tools of all schemas in a segment.
    package static let schemaEntries = 1 << 18
    /// Changesets in a segment.
    package static let changesets = 65_536
    /// Operations in a segment.
    package static let operations = 1 << 22
    /// Values in a segment, without keys.
    package static let values = 1 << 25
    /// A segment's values in memory at a time: values of a larger segment are read on request.
    package static let valuesAtOnce = 1 << 22
    /// Bytes of all texts and blobs in a segment, keys included, repetitions included: their size in a database. In the
    /// file equal contents stand once.
    ///
    /// Earlier writers knew no such limit. They had all contents of a changeset in memory twice, so they could not
    /// reach this limit.
    package static let contentBytes = 1 << 36
    /// The same, if the writer can make several segments. A reader checks whether the disk has room for more.
    package static let plannedContentBytes = 1 << 28
    /// Blocks of a table's changes in a segment.
    package static let tableBlocks = 1 << 20
    /// Columns of all table blocks, counted for each block.
    package static let blockColumns = 1 << 24
    /// Shapes of all table blocks.
    package static let shapes = 1 << 20
    /// Columns of all shapes.
    package static let shapeColumns = 1 << 22
    /// Entries of all contexts that differ from the context before.
    package static let contextEntries = 1 << 21
}
