import FerryCore
import FerrySchema

/// The values that a migration may have put another value in place of: guesses that an object checksum can prove.
extension FieldValue {
    /// The usual values of columns without content.
    static let withoutContent: [FieldValue] = [
        .null, .integer(0), .integer(1), .text([]), .real(0), .text(Array("0".utf8)[...]), .blob([]),
    ]

    /// The value under different types.
    var underOtherTypes: [FieldValue] {
        switch self {
        case .integer, .real: [.integer, .real, .text].map { taken(by: $0) }
        case .text(let bytes): [taken(by: .integer), taken(by: .real), .blob(bytes)]
        case .blob(let bytes): [.text(bytes)]
        case .null, .reference: []
        }
    }

    /// The different values that a column may have had as long as the column had another type.
    func formers(under type: SchemaColumn.Affinity) -> [FieldValue] {
        (underOtherTypes + Self.withoutContent).filter { $0 != self && $0.isStored(by: type) }
    }
}
