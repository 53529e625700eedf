import XCTest

@testable import FerryStore

extension XCTestCase {
    /// Tells what two people do at the same time, and checks what both see afterwards, in both orders of delivery, with a
    /// third device that hears of everything at once. The second device's clock is an hour ahead.
    /// - Parameters:
    ///   - together: what both have before they part.
    ///   - one, other: what each does alone; the other's clock is an hour ahead, so its writes are newer.
    ///   - query: shows `expected` on every device.
    ///   - conflicts: the kinds of conflict that each of the two records, or nil where that is not looked at.
    func story(
        _ schema: TestSchema, together: String = "", one: String, other: String, query: String,
        shows expected: [String],
        conflicts: [String]? = nil, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let oracle = try Oracle(schema)
        for isReversed in [false, true] {
            let first = try TestDevice(1, schema)
            let second = try TestDevice(2, schema, hoursAhead: 1)
            let third = try TestDevice(3, schema)
            try first.run(together)
            try first.flush()
            try second.receive(first)
            second.clock.now += 1000
            first.clock.now += 1000
            try first.run(one)
            try second.run(other)
            try first.flush()
            try second.flush()
            if isReversed {
                try second.receive(first)
                try first.receive(second)
                try third.receive(second, first)
            } else {
                try first.receive(second)
                try second.receive(first)
                try third.receive(first)
                try third.receive(second)
            }
            for device in [first, second, third] {
                let name = "device \(device.id.low)\(isReversed ? ", reversed" : "")"
                XCTAssertEqual(try device.query(query), expected, name, file: file, line: line)
                XCTAssertEqual(try oracle.complaints(about: device), [], name, file: file, line: line)
                if let conflicts, device !== third {
                    XCTAssertEqual(
                        try device.query("SELECT kind FROM ferry_conflict ORDER BY kind"), conflicts, name, file: file,
                        line: line)
                }
            }
        }
    }
}
