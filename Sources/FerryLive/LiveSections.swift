import GRDB

/// Divides the rows of a `LiveResults` into sections.
///
/// Sections stand in the order of their first rows, so a request is ordered by its sections first, as a rule. Rows of a
/// section that do not stand together in the request are brought together.
public struct LiveSections: Sendable {
    enum Rule: Sendable {
        case none
        case column(String)
        case name(@Sendable (Row) throws -> String)
    }

    let rule: Rule

    /// A single section of all rows, with an empty name.
    public static let none = LiveSections(rule: .none)

    /// A section for each value of a column of the request; the section of NULL has an empty name.
    public static func column(_ name: String) -> LiveSections { LiveSections(rule: .column(name)) }

    /// A section for each name that a function gives. The function must depend on the row alone.
    public static func name(_ name: @escaping @Sendable (Row) throws -> String) -> LiveSections {
        LiveSections(rule: .name(name))
    }

    /// The description in the cache of a list.
    var description: String {
        switch rule {
        case .none: "none"
        case .column(let name): "column \(name)"
        case .name: "name"
        }
    }
}

/// A section of a delivery: consecutive rows.
public struct LiveSection: Hashable, Sendable {
    public var name: String
    /// The section's rows among all rows.
    public var rows: Range<Int>

    public var count: Int { rows.count }

    /// The section's title in an index beside a long list: its first letter, in upper case.
    public var indexTitle: String { name.first.map { $0.uppercased() } ?? "" }
}

/// The place of a row: its section and its place in there, both from 0.
public struct LivePosition: Hashable, Sendable, Comparable {
    public var section: Int
    public var item: Int

    public init(section: Int, item: Int) {
        self.section = section
        self.item = item
    }

    public static func < (left: LivePosition, right: LivePosition) -> Bool {
        (left.section, left.item) < (right.section, right.item)
    }
}
