import FerryCore

/// An SQLite database, as far as the model asks it.
package protocol ModelDatabase: AnyObject {
    /// Runs statements that give nothing.
    func executeScript(_ sql: String) throws

    /// The rows of a query; one of a statement that writes has none.
    func rows(_ sql: String, values: [FieldValue]) throws -> [[FieldValue]]
}

/// An empty copy of a schema, in which SQLite says what it thinks of single rows: nothing else can say it.
package protocol ModelScratch: AnyObject {
    /// What SQLite takes for equal.
    var equality: ModelEquality { get }

    /// The first error that SQLite gave where nobody could be told.
    var failure: (any Error)? { get }

    /// The reason for which SQLite refuses a row by itself, whatever other rows there are; `nil` where it does not.
    /// - Parameter values: without references; columns that are left out get their defaults.
    func refusal(of values: [(column: Int, value: FieldValue)], in table: ModelSchema.Table) throws -> String?

    /// The terms of a UNIQUE index for a row; `nil` where a partial index leaves the row out.
    func terms(
        of unique: ModelSchema.Unique, _ values: [(column: Int, value: FieldValue)], in table: ModelSchema.Table
    ) throws -> [FieldValue]?

    /// The value of a constant expression.
    func value(of sql: String) throws -> FieldValue
}
