import FerryCore
import FerrySQL

extension TrackedTable {
    /// The local column of a travelling name, or the local column that a column of this name became; `nil` for a column that
    /// is gone.
    /// - Parameter origins: the former columns of columns, by name in lower case (`Generations.origins`).
    package func present(_ name: String, _ origins: [String: [Int]]) -> Int? {
        let known = columnID(travelling: name) ?? columnID(name)
        if let known, columns[known].isLocal { return known }
        // By the former column, the columns that replaced this column alone.
        var successors: [Int: Int] = [:]
        for column in columns {
            if let formers = origins[foldedName(column.name)], formers.count == 1 { successors[formers[0]] = column.id }
        }
        var column = known
        for _ in columns {
            guard let present = column, !columns[present].isLocal else { return column }
            column = successors[present]
        }
        return nil
    }

    /// True if the primary key is claimed like a UNIQUE value, because IDs distinguish keys equal in SQLite.
    package var isKeyClaimed: Bool { uniqueIndexes.contains(where: \.isKey) }

    /// True if SQLite compares the primary key differently from derived IDs, or from the key's columns.
    package var hasKeyOfItsOwn: Bool {
        isKeyClaimed
            || keyCollations.indices.contains { place in
                !(columnID(keyColumns[place]).map { equalNames(columns[$0].collation, keyCollations[place]) } ?? false)
            }
    }

    /// The key's columns, compared as IDs compare them in a compound SELECT. SQLite takes the collations of the first SELECT
    /// (https://www.sqlite.org/lang_select.html#compound_select_statements).
    package var comparedKeyList: String {
        if isMapped { return keyList }
        return keyColumns.enumerated().map { place, name in
            let own = columnID(name).map { columns[$0].collation }
            let identity = identityCollation(place)
            return own.map { equalNames($0, identity) } ?? false
                ? quoted(name) : "\(quoted(name)) COLLATE \(quoted(identity))"
        }.joined(separator: ", ")
    }

    /// The present names of a declared identity's columns, if some were renamed or are gone; empty otherwise.
    package var renamedIdentity: [String] {
        guard case .declared(let names) = identity, names.count == declaredColumns.count else { return [] }
        let present = declaredColumns.map { $0.map { columns[$0].name } ?? "" }
        return zip(names, present).allSatisfy { equalNames($0, $1) } ? [] : present
    }

    /// The collation under which values of a part of the key derive the same ID.
    package func identityCollation(_ place: Int) -> String {
        place < identityCollations.count ? identityCollations[place] : "BINARY"
    }

    /// The collation a foreign key applies to a column of this table, given all columns of the parent key.
    package func offerCollation(_ column: Int, among columns: [Int]) -> String {
        if columns.count == keyColumnIDs.count, let place = keyColumnIDs.firstIndex(of: column),
            place < keyCollations.count, keyColumnIDs.allSatisfy(columns.contains)
        {
            return keyCollations[place]
        }
        return self.columns[column].collation
    }
}
