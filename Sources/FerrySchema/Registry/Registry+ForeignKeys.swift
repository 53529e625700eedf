import FerryCore

/// Links tables with their parents: by declared foreign keys, and by references that the selection names.
extension Registry {
    /// Describes a table's foreign keys, and adds them to their parents.
    /// - Parameter plain: the foreign keys counted as plain references (`DeclaredKey.target`).
    func link(_ number: Int, _ schema: Schema, _ plain: Set<String>) {
        guard self[number].isLocal, let local = schema.table(self[number].name) else { return }
        var plainKeys: [TrackedForeignKey] = []
        for key in local.foreignKeys {
            guard let parent = table(named: key.parentTable), parent.isLocal else { continue }
            var columns = key.columns.compactMap { self[number].columnID($0) }
            guard columns.count == key.columns.count else { continue }
            let parentKey = schema.table(parent.name)?.primaryKey ?? parent.keyColumns
            var parentColumns = key.parentColumns.isEmpty ? parentKey : key.parentColumns
            guard parentColumns.count == columns.count else { continue }
            var isEnforced = true
            if let place = Self.mappedPart(parent, parentColumns) {
                // The integer alone says which row is meant. With a NULL beside the integer SQLite enforces nothing.
                isEnforced = key.columns.indices.allSatisfy {
                    $0 == place || !self[number].columns[columns[$0]].mayBeNull
                }
                (columns, parentColumns) = ([columns[place]], [parentColumns[place]])
            }
            guard let target = Self.target(parent, parentColumns) else { continue }
            let declared = schema.declaredKey(key, of: local)
            // No data makes a foreign key of Ferry's own tables a plain reference: documents rely on them.
            let isPlain =
                declared.map { plain.contains(exactKey($0.target)) && !isFerryName($0.child) } ?? true || !isEnforced
            if isPlain {
                plainKeys.append(
                    TrackedForeignKey(
                        declared: declared, columns: columns, parent: parent.id, target: target, action: .none))
                continue
            }
            let action: ForeignKeyAction =
                switch key.onDelete {
                case "CASCADE": .cascade
                case "SET NULL": .setNull
                case "SET DEFAULT": .setDefault
                default: .restrict
                }
            let position = self[number].foreignKeys.count
            self[number].foreignKeys.append(
                TrackedForeignKey(
                    declared: declared, columns: columns, parent: parent.id, target: target, action: action))
            parent.incoming.append(.init(table: number, foreignKey: position))
            if case .unique(let offered) = target { parent.offeredKeys.append(offered) }
        }
        for key in plainKeys { linkPlain(key, self[number]) }
    }

    /// Adds a plain reference. A reference to a mapped key travels as the object. For a reference by value only the
    /// columns matter: they may hold mapped keys.
    private func linkPlain(_ key: TrackedForeignKey, _ child: TrackedTable) {
        guard case .mapped = key.target else {
            child.plainKeys.append(key)
            return
        }
        let isChecked = child.foreignKeys.contains { other in
            if case .mapped = other.target { other.columns == key.columns } else { false }
        }
        if isChecked { return }
        self[key.parent].incoming.append(.init(table: child.id, foreignKey: child.foreignKeys.count))
        child.foreignKeys.append(key)
    }

    /// Adds a reference named by the selection and undeclared in the schema, if table and column exist here.
    /// - Parameter origins: the former columns of the child's columns, by name in lower case.
    func link(_ reference: UndeclaredReference, _ origins: [String: [Int]]) {
        guard let child = table(named: reference.table), let parent = table(named: reference.parent),
            child.isLocal, parent.isLocal, parent.isMapped, let column = child.present(reference.column, origins),
            !child.foreignKeys.contains(where: { $0.columns == [column] && $0.parent == parent.id })
        else { return }
        parent.incoming.append(.init(table: child.id, foreignKey: child.foreignKeys.count))
        child.foreignKeys.append(
            TrackedForeignKey(columns: [column], parent: parent.id, target: .mapped, action: .none))
    }

    /// The place of a mapped key among several parent columns, as in `REFERENCES project(id, kind)`; `nil` without one.
    private static func mappedPart(_ parent: TrackedTable, _ columns: [String]) -> Int? {
        if !parent.isMapped || columns.count == 1 { return nil }
        return columns.firstIndex { equalNames($0, parent.keyColumns[0]) }
    }

    private static func target(_ parent: TrackedTable, _ columns: [String]) -> TrackedForeignKey.Target? {
        let isKey =
            columns.count == parent.keyColumns.count
            && parent.keyColumns.allSatisfy { key in columns.contains { equalNames($0, key) } }
        if isKey, parent.isMapped { return .mapped }
        if isKey, !parent.isKeyClaimed {
            let order = parent.keyColumns.compactMap { key in columns.firstIndex { equalNames($0, key) } }
            return .key(order)
        }
        let numbers = columns.compactMap { parent.columnID($0) }
        return numbers.count == columns.count ? .unique(numbers) : nil
    }
}
