import CFerryCurl
import XCTest

/// How libcurl is loaded.
final class CurlLibraryTests: XCTestCase {
    private func load(_ names: [String]) -> String? {
        let copies = names.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        var list = copies.map { UnsafePointer($0) } + [nil]
        return ferry_curl_load_from(&list).map { String(cString: $0) }
    }

    func testAComputerWithoutLibcurlIsToldWhatToInstall() throws {
        let reason = try XCTUnwrap(load(["libnothing.so.4", "/nowhere/libcurl.so.4"]))
        XCTAssertTrue(reason.contains("install the package libcurl4"), reason)
    }

    func testALibraryWithoutTheFunctionsIsNotTaken() throws {
        XCTAssertNil(ferry_curl_load().map { String(cString: $0) })
        XCTAssertNotNil(load([]))
        XCTAssertNotNil(load(["libz.so.1"]))
        // What was loaded before still works.
        let handle = try XCTUnwrap(ferry_curl_easy_init())
        ferry_curl_easy_cleanup(handle)
    }

    func testTheFirstLibraryWithTheFunctionsIsTaken() {
        XCTAssertNil(load(["libnothing.so.4", "libz.so.1", "libcurl.so.4"]))
    }
}
