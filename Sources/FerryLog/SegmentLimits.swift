/// What a segment may hold at most. The encoder refuses what is larger (`limitExceeded`), and the decoder takes what
/// is larger for damage, so that no file makes a device use unbounded memory or time.
///
/// Together the limits bound the memory that one decoded segment takes to its body, about 100 bytes for each operation
/// and 40 for each of `valuesAtOnce` values.
public enum SegmentLimits {
    /// Bytes of a whole file.
    public static let fileBytes = 256 << 20
    /// Bytes of a body before compression.
    public static let bodyBytes = 1 << 30
    /// How many times larger than its compressed form a body may be; zlib's own bound is about 1032.
    public static let bodyRatio = 1100
    /// Bytes of one text or blob.
    public static let valueBytes = 128 << 20
    /// UTF-8 bytes of the name of a table, a column or a schema object.
    public static let nameBytes = 1024
    /// UTF-8 bytes of one statement of a schema.
    public static let statementBytes = 4 << 20
    /// Statements of a schema.
    public static let statements = 65_536
    /// Tables in one changeset, or tracked in one schema.
    public static let tables = 32_767
    /// References of a schema that no foreign key declares.
    public static let references = 32_767
    /// Columns of a table; SQLite's own maximum.
    public static let columns = 32_767
    /// Devices in one context.
    public static let contextDevices = 4096
    /// The largest sequence number; exact in every language's floating-point numbers.
    public static let sequence: UInt64 = 1 << 53
    /// Different names in one segment.
    public static let names = 1 << 20
    /// Columns of the different tables, identities included.
    public static let layoutColumns = 1 << 22
    /// Statements, tracked tables and undeclared references of all schemas in one segment.
    public static let schemaEntries = 1 << 18
    /// Changesets in one segment.
    public static let changesets = 65_536
    /// Operations in one segment.
    public static let operations = 1 << 22
    /// Values in one segment, keys excepted.
    public static let values = 1 << 25
    /// Values of one segment that are in memory at a time: of a segment with more of them, values are read when they are
    /// asked for.
    public static let valuesAtOnce = 1 << 22
    /// Bytes of all texts and blobs in one segment, keys included, each as often as it stands: what they take in a
    /// database. In the file equal ones stand once.
    ///
    /// Earlier writers knew no such limit. They had all contents of a changeset in memory twice, so that this one was out
    /// of their reach.
    public static let contentBytes = 1 << 36
    /// The same, where the writer can make several segments of what it writes. A reader looks whether the disk has room
    /// for what has more.
    public static let plannedContentBytes = 1 << 28
    /// Blocks of one table's changes in one segment.
    public static let tableBlocks = 1 << 20
    /// Columns of all table blocks, counted for each block.
    public static let blockColumns = 1 << 24
    /// Shapes of all table blocks.
    public static let shapes = 1 << 20
    /// Columns of all shapes.
    public static let shapeColumns = 1 << 22
    /// Entries of all contexts that differ from the context before.
    public static let contextEntries = 1 << 21
}
