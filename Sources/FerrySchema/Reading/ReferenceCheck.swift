import FerryCore

/// Checks whether references named by a person are possible: a pure function of the schema.
package struct ReferenceCheck {
    package let schema: Schema
    /// The names of travelling tables.
    package let tracked: [String]

    /// - Throws: `invalidArgument`, with advice on a valid reference.
    package func check(_ references: [UndeclaredReference]) throws {
        for reference in references { try check(reference) }
        for (place, reference) in references.enumerated() {
            let others = references[..<place]
            if others.contains(where: {
                equalNames($0.table, reference.table) && equalNames($0.column, reference.column)
            }) {
                throw refusal(reference, "it is given twice. A column refers to one table.")
            }
        }
    }

    private func check(_ reference: UndeclaredReference) throws {
        let child = try table(reference.table, reference)
        let parent = try table(reference.parent, reference)
        guard let column = child.column(travelling: reference.column), !column.isGenerated else {
            throw refusal(reference, "“\(child.name)” has no such column that is stored. Check the spelling.")
        }
        guard parent.primaryKey.count == 1 else {
            throw refusal(
                reference,
                "the primary key of “\(parent.name)” is \(parent.primaryKey.count) columns, and one column cannot "
                    + "hold it. Leave the reference out.")
        }
        if parent.isIntegerKey, column.affinity == .text {
            throw refusal(
                reference,
                "the column keeps text and the keys of “\(parent.name)” are integers. Change the column's type.")
        }
        if child.isIntegerKey, equalNames(child.primaryKey[0], column.name), equalNames(child.name, parent.name) {
            throw refusal(reference, "a row's own key refers to nothing. Name another column.")
        }
    }

    private func table(_ name: String, _ reference: UndeclaredReference) throws -> SchemaTable {
        guard let table = schema.table(name) else {
            throw refusal(reference, "the database has no table “\(name)”. Check the spelling.")
        }
        guard tracked.contains(where: { equalNames($0, name) }) else {
            throw refusal(reference, "“\(name)” does not travel. Let it travel, or leave the reference out.")
        }
        return table
    }

    private func refusal(_ reference: UndeclaredReference, _ reason: String) -> FerryError {
        FerryError(
            .invalidArgument,
            "The reference \(reference.table).\(reference.column)=\(reference.parent) cannot be: \(reason)")
    }
}
