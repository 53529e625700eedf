import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryRemote

/// Programs that give credentials: what they say, and that none of them stays.
final class ChildProcessTests: XCTestCase {
    private var folder = URL(fileURLWithPath: "/")

    override func setUpWithError() throws { folder = try ScratchFolder.make("ferry-child") }

    override func tearDownWithError() throws { try FileManager.default.removeItem(at: folder) }

    /// A shell that starts a second program, and waits for it with the output open. Both write down their numbers.
    private var hanging: [String] {
        [
            "/bin/sh", "-c",
            "cd '\(folder.path)'; echo 'touch the key' >&2; sleep 600 & echo $! >child; echo $$ >parent; mv child started; wait; echo x",
        ]
    }

    private func number(_ name: String) throws -> pid_t? {
        let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        return pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines))
    }

    private func assertGone() throws {
        for name in ["parent", "started"] {
            let process = try XCTUnwrap(try number(name))
            let gone = XCTNSPredicateExpectation(
                predicate: NSPredicate { _, _ in kill(process, 0) != 0 }, object: nil)
            XCTAssertEqual(XCTWaiter().wait(for: [gone], timeout: 20), .completed, name)
        }
    }

    func testTheOutputTheStatusAndTheLastWordsAreKept() {
        let child = ChildProcess()
        XCTAssertEqual(
            child.run(["/bin/sh", "-c", "echo out; echo first >&2; echo last >&2; exit 3"]),
            .ended(status: 3, output: "out\n", words: "last"))
        guard case .ended(status: ChildProcess.Outcome.unknownProgram, _, _) = child.run(["/nowhere/give"]) else {
            return XCTFail("an unknown program")
        }
        // Nothing is asked on standard input, and an absurd output is none.
        XCTAssertEqual(child.run(["cat"]), .ended(status: 0, output: "", words: ""))
        XCTAssertEqual(
            child.run(["/bin/sh", "-c", "yes | head -c 200000"]), .ended(status: 0, output: "", words: ""))
    }

    func testAProgramThatHangsIsEndedWithAllThatItStarted() throws {
        XCTAssertEqual(ChildProcess(seconds: 2).run(hanging), .tooLong(seconds: 2, words: "touch the key"))
        try assertGone()
    }

    /// A watch that is told to end does not wait for a helper.
    func testAnInterruptionEndsTheQuestionAndTheHelper() throws {
        guard case .s3(let location) = try ContainerLocation("s3://bucket/x?profile=p&endpoint=https://o.example.net")
        else { return XCTFail("no bucket") }
        let (child, words) = (ChildProcess(), hanging)
        let chain = CredentialChain(
            location,
            CredentialSurroundings(
                variables: [:], home: "/home/me", readFile: { _ in "[p]\ncredential_process = /opt/give\n" },
                run: { _ in child.run(words) }, interrupt: { child.interrupt() }))
        let storage = S3Storage(location, source: chain, transport: CurlTransport())
        let started = folder.appendingPathComponent("started").path
        let answer = Locked<FerryError?>(nil)
        let isOver = expectation(description: "the question is over")
        Thread {
            let told = failure { _ = try storage.list("", after: nil, nil) }
            answer.withLock { $0 = told }
            isOver.fulfill()
        }.start()
        let runs = XCTNSPredicateExpectation(
            predicate: NSPredicate { _, _ in FileManager.default.fileExists(atPath: started) }, object: nil)
        XCTAssertEqual(XCTWaiter().wait(for: [runs], timeout: 20), .completed)
        storage.interrupt()
        wait(for: [isOver], timeout: 20)
        XCTAssertEqual(answer.withLock { $0?.code }, .busy)
        try assertGone()
    }
}
