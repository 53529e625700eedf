import FerryContainer
import FerryCore
import XCTest

final class ContainerDescriptionTests: XCTestCase {
    private let id = ContainerID("0123456789abcdef0123456789abcdef")!

    private func decode(_ text: String) throws -> ContainerDescription {
        try ContainerDescription(decoding: Array(text.utf8))
    }

    func testTheFileIsReadableByPeopleAndHasItsKeysInOrder() throws {
        let description = try ContainerDescription(id: id, name: "Music/Zoë", createdMilliseconds: 1_700_000_000_000)
        XCTAssertEqual(
            String(decoding: try description.encoded(), as: UTF8.self),
            """
            {
              "created" : 1700000000000,
              "format" : 1,
              "id" : "01234567-89ab-cdef-0123-456789abcdef",
              "name" : "Music/Zoë",
              "sealing" : "none"
            }

            """)
        XCTAssertEqual(try ContainerDescription(decoding: description.encoded()), description)
    }

    func testASealedContainerNamesTheFirstRecord() throws {
        let genesis = try XCTUnwrap(RecordHash(bytes: Array(100..<132)))
        let description = try ContainerDescription(
            id: id, name: "N", createdMilliseconds: 5, sealing: .sealed(genesis: genesis))
        XCTAssertEqual(try ContainerDescription(decoding: description.encoded()), description)
        let text = String(decoding: try description.encoded(), as: UTF8.self)
        XCTAssertTrue(text.contains(#""genesis" : "\#(genesis.hex)""#), text)
        XCTAssertTrue(text.contains(#""sealing" : "ferry-1""#), text)
        // An open container has no first record, whatever somebody writes there.
        let open = text.replacing("ferry-1", with: "none")
        XCTAssertEqual(try decode(open).sealing, .none)
        for digits in ["", "0", genesis.hex.uppercased(), genesis.hex + "00", String(repeating: "0", count: 64)] {
            assertThrows(.damagedFile) { try decode(text.replacing(genesis.hex, with: digits)) }
        }
        assertThrows(.damagedFile) { try decode(text.replacing("genesis", with: "other")) }
    }

    func testKeysOfLaterVersionsOfTheFormatAreIgnored() throws {
        let text = #"{"format":1,"id":"\#(id)","name":"N","sealing":"none","created":5,"colour":"red"}"#
        XCTAssertEqual(try decode(text).id, id)
    }

    func testANewerFormatAsksForAnUpdateWhateverElseItHolds() {
        assertThrows(.containerTooNew, "Update Ferry") { try decode(#"{"format":2}"#) }
        assertThrows(.containerTooNew, "Update Ferry") {
            try decode(#"{"format":1,"id":"\#(id)","name":"N","sealing":"aead-7","created":5}"#)
        }
    }

    func testAnythingElseIsDamaged() throws {
        let whole = try ContainerDescription(id: id, name: "N", createdMilliseconds: 5).encoded()
        // All but the newline at the end is needed.
        for length in 0..<whole.count - 1 {
            assertThrows(.damagedFile) { try ContainerDescription(decoding: Array(whole.prefix(length))) }
        }
        for text in [
            "[]", "null", "1", #"{"format":0}"#, #"{"format":-1}"#, #"{"format":"1"}"#, #"{"format":1e99}"#,
            #"{"format":1,"id":"x","name":"N","sealing":"none","created":5}"#,
            #"{"format":1,"id":"\#(id)","name":"","sealing":"none","created":5}"#,
            #"{"format":1,"id":"\#(id)","name":"\#(String(repeating: "n", count: 257))","sealing":"none","created":5}"#,
            String(repeating: "[", count: 60_000), String(repeating: " ", count: 70_000), "\0", "<html>",
        ] {
            assertThrows(.damagedFile) { try decode(text) }
        }
    }

    func testANameHasOneToTwoHundredFiftySixBytes() {
        for name in ["", String(repeating: "n", count: 257)] {
            assertThrows(.invalidArgument) { try ContainerDescription(id: id, name: name, createdMilliseconds: 0) }
        }
    }
}
