import FerryCore

/// Charges a segment's content against `SegmentLimits`. The encoder and the decoder charge the same things, so that
/// whatever can be written can be read.
struct SegmentBudget {
    /// The resources that the limits bound over a whole segment.
    enum Resource: Int, CaseIterable {
        case changesets, operations, values, tableBlocks, blockColumns, shapes, shapeColumns, contextEntries
        case names, layoutColumns, schemaEntries, contentBytes, largeBytes, parts

        var limit: Int {
            switch self {
            case .changesets: SegmentLimits.changesets
            case .operations: SegmentLimits.operations
            case .values: SegmentLimits.values
            case .tableBlocks: SegmentLimits.tableBlocks
            case .blockColumns: SegmentLimits.blockColumns
            case .shapes: SegmentLimits.shapes
            case .shapeColumns: SegmentLimits.shapeColumns
            case .contextEntries: SegmentLimits.contextEntries
            case .names: SegmentLimits.names
            case .layoutColumns: SegmentLimits.layoutColumns
            case .schemaEntries: SegmentLimits.schemaEntries
            case .contentBytes: SegmentLimits.contentBytes
            case .largeBytes: SegmentLimits.largeBytes
            case .parts: SegmentLimits.parts
            }
        }

        var noun: String {
            switch self {
            case .changesets: "changesets"
            case .operations: "operations"
            case .values: "values"
            case .tableBlocks: "tables"
            case .blockColumns: "columns of its tables"
            case .shapes: "sets of columns"
            case .shapeColumns: "columns in sets"
            case .contextEntries: "entries of its contexts"
            case .names: "names"
            case .layoutColumns: "columns of its different tables"
            case .schemaEntries: "statements and tables in its schemas"
            case .contentBytes: "bytes of texts and blobs, each as often as it stands,"
            case .largeBytes: "bytes of large values"
            case .parts: "parts of large values"
            }
        }
    }

    private let code: FerryError.Code
    /// The kind of file, for messages.
    private var file = "segment"
    private var limits = Resource.allCases.map(\.limit)
    private var used = Array(repeating: 0, count: Resource.allCases.count)
    /// The number of parts in which a block's values are read: more than one part if values are read on request.
    private(set) var valueWindows = 1
    /// The most values of a block that all lie in memory as they are; larger blocks keep columns.
    private(set) var fewValues = BlockValues.few

    private init(code: FerryError.Code) { self.code = code }

    static let forEncoding = SegmentBudget(code: .limitExceeded)
    /// A budget for several segments that may become one segment, and can as well stay what they are.
    static let forRollingUp: SegmentBudget = {
        var budget = SegmentBudget.forEncoding
        budget.limits[Resource.contentBytes.rawValue] = SegmentLimits.plannedContentBytes
        return budget
    }()
    /// A budget for content that was read before, and is read again.
    static let forReadingAgain: SegmentBudget = {
        var budget = SegmentBudget(code: .damagedFile)
        budget.limits = Resource.allCases.map { _ in .max }
        return budget
    }()

    /// A budget of no more operations and values than a header claims.
    /// - Parameters:
    ///   - valuesAtOnce: the most values in memory.
    ///   - fewValues: the most values of a block in memory as they are.
    static func forDecoding(
        _ header: SegmentHeader, valuesAtOnce: Int = SegmentLimits.valuesAtOnce, fewValues: Int = BlockValues.few
    ) -> SegmentBudget {
        var budget = SegmentBudget(code: .damagedFile)
        budget.fewValues = fewValues
        budget.limits[Resource.operations.rawValue] = header.operationCount
        budget.limits[Resource.values.rawValue] = header.valueCount
        budget.valueWindows = max((header.valueCount + valuesAtOnce - 1) / valuesAtOnce, 1)
        return budget
    }

    /// A budget for a file of a snapshot, which charges objects as operations.
    /// - Parameter contentBytes: the most bytes of texts and blobs, repetitions included.
    static func forSnapshot(isDecoding: Bool, contentBytes: Int = .max) -> SegmentBudget {
        var budget = SegmentBudget(code: isDecoding ? .damagedFile : .limitExceeded)
        budget.file = "file of a snapshot"
        budget.limits[Resource.operations.rawValue] = SnapshotLimits.objects
        budget.limits[Resource.values.rawValue] = SnapshotLimits.cells
        budget.limits[Resource.contentBytes.rawValue] = contentBytes
        return budget
    }

    /// Allows for texts and blobs as large as the large values that came.
    mutating func admitLargeValues() {
        let place = Resource.contentBytes.rawValue
        let (sum, overflow) = limits[place].addingReportingOverflow(used(.largeBytes))
        limits[place] = overflow ? .max : sum
    }

    func used(_ resource: Resource) -> Int { used[resource.rawValue] }

    /// Charges `count` (not negative) to the segment.
    mutating func take(_ count: Int, _ resource: Resource) throws(FerryError) {
        let limit = limits[resource.rawValue]
        guard count <= limit - used[resource.rawValue] else {
            throw exceeded("\(resource.noun) in one \(file)", limit)
        }
        used[resource.rawValue] += count
    }

    /// Checks a count that has a limit of its own.
    func check(_ count: Int, atMost limit: Int, _ noun: String) throws(FerryError) {
        guard count <= limit else { throw exceeded(noun, limit) }
    }

    private func exceeded(_ noun: String, _ limit: Int) -> FerryError {
        if code == .damagedFile { return ByteReader.malformed("it has more than \(limit) \(noun)") }
        return FerryError(
            code, "The changes are too large to be written: Ferry allows at most \(limit) \(noun). Make them smaller.")
    }
}
