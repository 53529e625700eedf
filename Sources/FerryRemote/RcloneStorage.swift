import FerryContainer
import FerryCore
import Foundation

/// A place within rclone's reach, by `rclone rcd` (Docs/Stores.md, "Everything that rclone reaches").
///
/// An object in a device's directory has the remote's facts as a tag: size, time, ID, and a hash if the remote keeps
/// any. Tags of objects beside the marker are checksums of their content: they are small, and several devices write
/// `latest` within a second.
package final class RcloneStorage: ObjectStorage {
    /// An upload of the largest file may take this long without a word, in seconds.
    private static let silenceSeconds = 1800
    private static let maximumErrorBytes = 64 * 1024

    private let location: RcloneLocation
    private let transport: any HTTPTransport
    private let clock: any WallClock
    private let random: any RandomSource
    private let program: String
    private let variables: [String: String]
    private let state = Locked(State())
    /// Held during the start of rclone, so rclone is started once.
    private let startLock = NSLock()

    private struct State {
        var process: RcloneProcess?
        /// The kind of hash told by the remote at no cost; `.some(nil)`: none.
        var quickHash: String??
    }

    package let traits = StorageTraits(isConsistent: false, minimumWriteMilliseconds: 5000, maximumParallel: 4)

    /// Nothing is started yet.
    /// - Parameters:
    ///   - program: rclone, found by the search path.
    ///   - variables: the environment of this process.
    package init(
        _ location: RcloneLocation, transport: any HTTPTransport = CurlTransport(), program: String = "rclone",
        variables: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.location = location
        self.transport = transport
        self.program = program
        self.variables = variables
        clock = SystemClock()
        random = SystemRandom()
    }

    package func describe(_ key: String) -> String {
        let place = location.text
        return key.isEmpty ? place : place + (place.last == ":" || place.last == "/" ? "" : "/") + key
    }

    package func interrupt() { transport.interrupt() }

    // MARK: ObjectStorage

    /// Returns the whole listing as a single page.
    package func list(_ prefix: String, after key: String?, _ token: String?) throws -> ObjectPage {
        var directory = prefix
        while directory.last == "/" { directory.removeLast() }
        let hash = try quickHash()
        let order = ListCall(location.filesystem, directory, hash)
        let answer = try call("operations/list", order, maximumBytes: RcloneAnswer.maximumListingBytes)
        if answer.status == 404 { return ObjectPage(objects: []) }
        guard answer.status == 200 else { throw refusal(answer, "list", "") }
        let (now, chance) = (clock.milliseconds(), random.next())
        let objects = try RcloneAnswer.listing(answer.body).compactMap { item -> ListedObject? in
            guard !item.isDirectory, item.size >= 0, item.path.hasPrefix(prefix),
                key.map({ $0 < item.path }) ?? true
            else { return nil }
            return ListedObject(key: item.path, size: item.size, tag: item.tag(at: now, chance: chance))
        }
        return ObjectPage(objects: objects.sorted { $0.key < $1.key })
    }

    package func get(_ key: String, unless tag: String?, maximumBytes: Int) throws -> ObjectAnswer {
        guard key.contains("/") else {
            guard let bytes = try content(key, maximumBytes) else { return .absent }
            let present = Self.tag(of: bytes)
            return present == tag ? .same : .found(bytes: bytes, tag: present)
        }
        // Asked for before the content: where somebody writes between both, the tag is older, and the object is read again.
        guard let item = try item(key) else { return .absent }
        let present = item.tag(at: clock.milliseconds(), chance: random.next())
        if present == tag { return .same }
        guard item.size <= maximumBytes else { throw tooLarge(key, maximumBytes) }
        return try content(key, maximumBytes).map { .found(bytes: $0, tag: present) } ?? .absent
    }

    package func get(_ key: String, range: Range<Int>) throws -> [UInt8]? {
        var order = Order("GET", path(key))
        order.headers = [("range", HTTPRange.header(range))]
        let answer = try send(order, maximumBytes: HTTPRange.maximumBytes(range), key)
        if let bytes = HTTPRange.bytes(of: answer, range) { return bytes }
        if answer.status == 404 { return nil }
        throw refusal(answer, "read", key)
    }

    package func put(_ key: String, _ bytes: [UInt8], onlyIfAbsent: Bool) throws -> PutAnswer {
        if onlyIfAbsent, try item(key) != nil { return .present }
        let answer = try UploadFolder.with(bytes) { folder, name in
            try call("operations/copyfile", CopyCall(folder, name, location.filesystem, key))
        }
        guard answer.status == 200 else { throw refusal(answer, "write", key) }
        return .written(tag: Self.tag(of: bytes))
    }

    package func delete(_ key: String) throws {
        let answer = try call("operations/deletefile", FileCall(fs: location.filesystem, remote: key))
        guard answer.status == 200 || answer.status == 404 else { throw refusal(answer, "remove", key) }
    }

    private static func tag(of bytes: [UInt8]) -> String { "content " + ContentHash.checksum(bytes).hex }

    // MARK: Requests

    /// A request, before a process for the request is known.
    private struct Order {
        var method: String
        var path: String
        var headers: [(name: String, value: String)] = []
        var body: [UInt8]?

        init(_ method: String, _ path: String) {
            self.method = method
            self.path = path
        }
    }

    private struct FileCall: Encodable {
        var fs: String
        var remote: String
    }

    private struct ListCall: Encodable {
        struct Options: Encodable {
            var recurse: Bool?
            var filesOnly = true
            var noMimeType = true
            var showHash: Bool?
            var hashTypes: [String]?
        }
        struct Settings: Encodable {
            var usesServerTime = true

            private enum CodingKeys: String, CodingKey { case usesServerTime = "UseServerModTime" }
        }

        var fs: String
        var remote: String
        var opt: Options
        var _config = Settings()

        init(_ fs: String, _ remote: String, _ hash: String?, recurse: Bool? = true) {
            self.fs = fs
            self.remote = remote
            opt = Options(recurse: recurse, showHash: hash.map { _ in true }, hashTypes: hash.map { [$0] })
        }
    }

    private struct CopyCall: Encodable {
        struct Settings: Encodable {
            var looksNotAtTarget = true
            var ignoresTimes = true

            private enum CodingKeys: String, CodingKey {
                case looksNotAtTarget = "NoCheckDest"
                case ignoresTimes = "IgnoreTimes"
            }
        }

        var srcFs: String
        var srcRemote: String
        var dstFs: String
        var dstRemote: String
        var _config = Settings()

        init(_ folder: String, _ name: String, _ fs: String, _ key: String) {
            (srcFs, srcRemote, dstFs, dstRemote) = (folder, name, fs, key)
        }
    }

    private func item(_ key: String) throws -> RcloneAnswer.Item? {
        let answer = try call(
            "operations/stat", ListCall(location.filesystem, key, try quickHash(), recurse: nil))
        if answer.status == 404 { return nil }
        guard answer.status == 200 else { throw refusal(answer, "read", key) }
        return try RcloneAnswer.item(answer.body).flatMap { $0.isDirectory ? nil : $0 }
    }

    private func content(_ key: String, _ maximumBytes: Int) throws -> [UInt8]? {
        // An error may be longer than the file.
        let answer = try send(
            Order("GET", path(key)), maximumBytes: max(maximumBytes, Self.maximumErrorBytes), key)
        if answer.status == 404 { return nil }
        guard answer.status == 200 else { throw refusal(answer, "read", key) }
        guard answer.body.count <= maximumBytes else { throw tooLarge(key, maximumBytes) }
        return answer.body
    }

    private func path(_ key: String) -> String {
        "/" + PercentEncoding.encode("[" + location.filesystem + "]") + "/" + key
    }

    private func quickHash() throws -> String? {
        if let known = state.withLock({ $0.quickHash }) { return known }
        let answer = try call("operations/fsinfo", ["fs": location.filesystem])
        guard answer.status == 200 else { throw refusal(answer, "reach", "") }
        let hash = try RcloneAnswer.quickHash(answer.body)
        state.withLock { $0.quickHash = .some(hash) }
        return hash
    }

    private func call(
        _ name: String, _ body: some Encodable, maximumBytes: Int = RcloneAnswer.maximumBytes
    ) throws -> HTTPResponse {
        var order = Order("POST", "/" + name)
        order.body = Array(try JSONEncoder().encode(body))
        return try send(order, maximumBytes: maximumBytes, "")
    }

    /// Sends a request, and repeats the request once after a dead connection. If rclone has ended, starts rclone again. Every request can be
    /// repeated.
    private func send(_ order: Order, maximumBytes: Int, _ key: String) throws -> HTTPResponse {
        var process = try running()
        for attempt in 1...2 {
            var request = HTTPRequest(
                order.method, process.address + order.path,
                headers: order.headers + [("authorization", process.authorization)], body: order.body)
            if order.body != nil { request.headers.append(("content-type", "application/json")) }
            request.silenceSeconds = Self.silenceSeconds
            do {
                return try transport.perform(request, maximumBytes: maximumBytes)
            } catch {
                switch error.kind {
                case .tooLong: throw tooLarge(key, maximumBytes)
                case .interrupted:
                    throw FerryError(
                        .busy, "A request to rclone was ended before the answer. Try again.", path: describe(key))
                case .missingLibrary: throw missingLibrary(error)
                default:
                    let hasEnded = process.hasEnded
                    guard attempt == 1 else {
                        throw hasEnded ? RcloneProcess.missing(process.lastLine) : broken(error, process.lastLine, key)
                    }
                    if hasEnded { process = try restarted(after: process) }
                }
            }
        }
        throw RcloneProcess.missing(process.lastLine)
    }

    /// The failure of a transfer by an rclone that runs.
    private func broken(_ failure: HTTPFailure, _ lastLine: String, _ key: String) -> FerryError {
        let said = RcloneAnswer.words(lastLine)
        let what = failure.reason + (said.isEmpty ? "" : "; rclone's last words: " + said)
        return FerryError(
            key.isEmpty ? .containerMissing : .inputOutput,
            "rclone did not bring the answer for \(describe(key)) to its end (\(what)). "
                + (key.isEmpty ? "Check the network and the remote." : "Try again later."), path: describe(key),
            detail: what)
    }

    private func running() throws -> RcloneProcess {
        if let process = state.withLock({ $0.process }) { return process }
        startLock.lock()
        defer { startLock.unlock() }
        if let process = state.withLock({ $0.process }) { return process }
        return try start()
    }

    private func restarted(after dead: RcloneProcess) throws -> RcloneProcess {
        startLock.lock()
        defer { startLock.unlock() }
        if let process = state.withLock({ $0.process }), process !== dead { return process }
        return try start()
    }

    private func start() throws -> RcloneProcess {
        state.withLock { $0.process = nil }
        let process = try RcloneProcess(program: program, variables: variables, random: random)
        let request = HTTPRequest(
            "POST", process.address + "/core/version",
            headers: [("authorization", process.authorization), ("content-type", "application/json")],
            body: Array("{}".utf8))
        let answer: HTTPResponse
        do { answer = try transport.perform(request, maximumBytes: RcloneAnswer.maximumBytes) } catch {
            throw error.kind == .missingLibrary ? missingLibrary(error) : RcloneProcess.missing(process.lastLine)
        }
        guard answer.status == 200 else { throw RcloneProcess.missing(process.lastLine) }
        let version = try RcloneAnswer.version(answer.body)
        guard version.numbers.count >= 2, !version.numbers.lexicographicallyPrecedes(RcloneProcess.oldestVersion) else {
            throw FerryError(
                .containerMissing,
                "rclone \(version.text) is too old: Ferry needs \(RcloneProcess.oldestVersion[0])."
                    + "\(RcloneProcess.oldestVersion[1]) or later. Install a newer one.")
        }
        state.withLock { $0.process = process }
        return process
    }

    // MARK: Failures

    private func missingLibrary(_ failure: HTTPFailure) -> FerryError {
        FerryError(
            .containerMissing,
            "rclone cannot be asked: \(failure.reason).", path: describe(""),
            detail: failure.reason)
    }

    private func tooLarge(_ key: String, _ maximumBytes: Int) -> FerryError {
        FerryError(
            .limitExceeded, "\(describe(key)) is longer than \(maximumBytes) bytes; no more are read there.",
            path: describe(key))
    }

    private func refusal(_ answer: HTTPResponse, _ verb: String, _ key: String) -> FerryError {
        let said = RcloneAnswer.error(answer.body)
        let lower = said.lowercased()
        func says(_ words: String...) -> Bool { words.contains { lower.contains($0) } }
        if says("didn't find section in config file", "didn't find backend called") {
            return FerryError(
                .containerMissing,
                "rclone has no remote \(location.remote). `rclone config` makes one; `rclone listremotes` lists all.",
                path: describe(""))
        }
        if RcloneAnswer.isAboutPassword(said) { return RcloneProcess.passwordMissing() }
        if says("quota exceeded", "quotaexceeded", "no space left", "insufficient storage", "storage full") {
            return FerryError(
                .inputOutput, "\(location.remote) is full (\(said)). Changes wait until there is room.",
                path: describe(key), detail: said)
        }
        if says("ratelimit", "rate limit", "too many requests", "slow down", "slowdown") {
            return FerryError(
                .containerMissing,
                "\(location.remote) asks for fewer requests (\(said)). Try again later.",
                path: describe(key), detail: said)
        }
        if says("accessdenied", "access denied", "permission denied", "forbidden", "unauthorized", "invalid_grant")
            || says("error 403")
        {
            return FerryError(
                .accessDenied, "\(location.remote) refuses to \(verb) \(describe(key)): \(said).", path: describe(key),
                detail: said)
        }
        let isOutage = key.isEmpty || says("no such host", "connection refused", "network is unreachable", "timeout")
        return FerryError(
            isOutage ? .containerMissing : .inputOutput,
            "rclone cannot \(verb) \(describe(key)): \(said.isEmpty ? "\(answer.status)" : said). "
                + (isOutage ? "Check the network and the remote." : "Try again later."), path: describe(key),
            detail: said.isEmpty ? "\(answer.status)" : said)
    }
}

/// A separate folder for a file to upload by rclone. Only this account may look into the folder.
private enum UploadFolder {
    static func with<Result>(
        _ bytes: [UInt8], _ body: (_ folder: String, _ name: String) throws -> Result
    ) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ferry-rclone-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(at: folder) }  // a temporary folder
            try Data(bytes).write(to: folder.appendingPathComponent("file"))
            return try body(folder.path, "file")
        } catch let error as CocoaError {
            throw FerryError(
                .inputOutput, "A file for rclone cannot be written: \(error.systemWords).", path: folder.path,
                detail: error.systemWords)
        }
    }
}
