import FerryCore
import XCTest

/// Asserts that two lists of changesets say the same, down to the bits of reals and the bytes of names.
func assertSame(
    _ left: [Changeset], _ right: [Changeset], _ message: String = "", file: StaticString = #filePath,
    line: UInt = #line
) {
    let (left, right) = (left.flatMap(lines), right.flatMap(lines))
    XCTAssertEqual(left.count, right.count, message, file: file, line: line)
    if let (one, other) = zip(left, right).first(where: { $0 != $1 }) {
        XCTFail("“\(one)” is not “\(other)”; \(message)", file: file, line: line)
    }
}

/// A changeset as lines of text; values come with their operations, wherever they lie.
private func lines(_ changeset: Changeset) -> [String] {
    var lines = ["\(changeset.device) \(changeset.sequence) \(changeset.time)"]
    for (device, position) in changeset.context.positions.sorted(by: { $0.key < $1.key }) {
        lines.append("knows \(device) \(position)")
    }
    lines.append("\(changeset.schema as Any)")
    for table in changeset.tables {
        lines.append(
            "\(hexString(table.name.utf8)) \(table.identity) \(table.columns) \(table.shapes) "
                + "\(table.columns.indices.map { table.payload(of: $0)?.rawValue ?? 0 })")
        for operation in table.operations {
            lines.append(
                "\(operation.object) \(operation.kind) \(operation.time) \(operation.shape) "
                    + (operation.key.map { PlainText.text($0) } ?? "-"))
            for value in table.values(of: operation) { lines.append("  " + PlainText.text(value)) }
        }
    }
    return lines
}

/// Asserts that a call throws a `FerryError` of the given code.
func assertThrows(
    _ code: FerryError.Code, file: StaticString = #filePath, line: UInt = #line, _ body: () throws -> Void
) {
    XCTAssertThrowsError(try body(), file: file, line: line) { error in
        XCTAssertEqual((error as? FerryError)?.code, code, "\(error)", file: file, line: line)
    }
}
