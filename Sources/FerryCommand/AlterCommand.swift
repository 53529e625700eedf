import ArgumentParser
import Ferry

/// `ferry alter`.
struct AlterCommand: DatabaseCommand {
    static let configuration = CommandConfiguration(
        commandName: "alter",
        abstract: "Run an ALTER TABLE statement that SQLite refuses beside Ferry.",
        discussion: """
            SQLite refuses ALTER TABLE … DROP COLUMN where a trigger names the column, and Ferry's name every column of \
            a table that travels. This runs the statement with Ferry's triggers out of the way and makes them anew, in \
            one transaction. Every other change of the schema needs none of this: any program may make it.

            A column that is dropped here stays on the other devices, and its values are kept.

            JSON: {"statement"}

            Example:
              ferry alter music.sqlite 'ALTER TABLE song DROP COLUMN rating'

            Exit status 64 for any other statement.
            """)

    @OptionGroup var argument: DatabaseArgument

    @Argument(help: "One ALTER TABLE statement.")
    var statement: String

    @OptionGroup var output: OutputOptions

    func perform(_ console: Console) throws {
        try Replica(path: argument.database).store.alter(statement)
        if console.isJSON { return try console.emit(["statement": statement]) }
        try console.say("Done. Ferry's triggers follow the new schema.")
    }
}
