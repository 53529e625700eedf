import ArgumentParser
import Ferry

/// The travelling tables, and the identity of their rows.
struct TableSelectionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only these tables travel, separated by commas. Without it, all that can.", valueName: "a,b"))
    var tables: [String] = []

    @Option(help: ArgumentHelp("These tables stay here, separated by commas.", valueName: "a,b"))
    var except: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            The columns that tell what a row of the table stands for, so that devices that made the same rows before \
            they met do not get them twice. Can be given for several tables.
            """, valueName: "table=col,col"))
    var identity: [DeclaredIdentity] = []

    @Option(
        help: ArgumentHelp(
            """
            A column that holds the keys of another table though no foreign key says so. Integer keys differ from device \
            to device; so declared, the column's values follow. Can be given for several columns.
            """, valueName: "table.col=table"))
    var reference: [ReferenceArgument] = []

    @Option(
        help: ArgumentHelp(
            """
            The columns of a foreign key that need not lead to a row, as where the app does not enforce foreign keys: no row is \
            hidden or deleted elsewhere because of it. A foreign key that rows break already is one without this. Can be \
            given for several foreign keys.
            """, valueName: "table.col,col"))
    var plainReference: [PlainReferenceArgument] = []

    func validate() throws {
        var seen: Set<String> = []
        for declared in identity where !seen.insert(foldedName(declared.table)).inserted {
            throw ValidationError("--identity names the table “\(declared.table)” twice. Name all its columns at once.")
        }
        if !tables.isEmpty && names(tables).isEmpty { throw ValidationError("--tables names no table.") }
    }

    var selection: TableSelection {
        TableSelection(
            only: tables.isEmpty ? nil : names(tables), except: names(except),
            declaredIdentities: Dictionary(
                identity.map { (exactKey($0.table), $0.columns) }, uniquingKeysWith: { first, _ in first }),
            references: reference.map(\.reference), plainReferences: plainReference.map(\.name))
    }

    /// An error about a table missing in the database, with the table probably meant.
    func explained(_ error: FerryError, _ store: Store) throws -> FerryError {
        let advice = "Check the spelling."
        guard error.code == .invalidArgument, error.message.contains(advice) else { return error }
        let plan = try store.trackingPlan(TableSelection())
        let there = plan.tracked.map(\.name) + plan.leftOut.map(\.name)
        let said =
            names(tables) + names(except) + identity.map(\.table)
            + reference.flatMap { [$0.reference.table, $0.reference.parent] }
        for name in said where !there.contains(where: { equalNames($0, name) }) {
            guard let near = NearName.nearest(to: name, in: there) else { continue }
            return FerryError(
                error.code, error.message.replacing(advice, with: "Did you mean “\(near)”?"), path: error.path,
                cause: error)
        }
        return error
    }

    private func names(_ options: [String]) -> [String] { options.flatMap(DeclaredIdentity.split) }
}

/// `table.col=table`.
struct ReferenceArgument: ExpressibleByArgument, Equatable {
    var reference: UndeclaredReference

    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "="), let dot = argument[..<sign].firstIndex(of: ".") else {
            return nil
        }
        reference = UndeclaredReference(
            table: DeclaredIdentity.trimmed(argument[..<dot]),
            column: DeclaredIdentity.trimmed(argument[argument.index(after: dot)..<sign]),
            parent: DeclaredIdentity.trimmed(argument[argument.index(after: sign)...]))
        if reference.table.isEmpty || reference.column.isEmpty || reference.parent.isEmpty { return nil }
    }
}

/// `table.col,col`.
struct PlainReferenceArgument: ExpressibleByArgument, Equatable {
    var name: PlainReferenceName

    init?(argument: String) {
        guard let dot = argument.firstIndex(of: ".") else { return nil }
        name = PlainReferenceName(
            table: DeclaredIdentity.trimmed(argument[..<dot]),
            columns: DeclaredIdentity.split(String(argument[argument.index(after: dot)...])))
        if name.table.isEmpty || name.columns.isEmpty { return nil }
    }
}

/// `table=col,col`.
struct DeclaredIdentity: ExpressibleByArgument, Equatable {
    var table: String
    var columns: [String]

    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "=") else { return nil }
        table = Self.trimmed(argument[..<sign])
        columns = Self.split(String(argument[argument.index(after: sign)...]))
        if table.isEmpty || columns.isEmpty { return nil }
    }

    /// The names between commas, without spaces around them; empty names do not count.
    static func split(_ text: String) -> [String] {
        text.split(separator: ",").map(trimmed).filter { !$0.isEmpty }
    }

    static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
