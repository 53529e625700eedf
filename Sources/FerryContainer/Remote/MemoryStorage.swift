import FerryCore

/// A storage in memory. The storage counts requests, and fails in the ways of real storages. For tests and the
/// simulator.
package final class MemoryStorage: ObjectStorage {
    /// A kind of request.
    package enum Request: String, Hashable, CaseIterable, Sendable {
        case list, get, put, delete
    }

    /// The fault of a request.
    package enum Fault: Hashable, CaseIterable, Sendable {
        /// Nothing is done, and the request fails.
        case refused
        /// The request is done, and the answer gets lost.
        case answerLost
        /// The process dies before the request, or after the request: every later request fails, too.
        case killedBefore, killedAfter
    }

    private struct Object {
        var bytes: [UInt8]
        var tag: String
        /// The number of the writing request.
        var written: Int
    }

    private struct State {
        var objects: [String: Object] = [:]
        /// The objects in lagging listings: the objects of some requests ago.
        var listed: [String: Object] = [:]
        var counts: [Request: Int] = [:]
        var number = 0
        var fault: (kind: Fault, after: Int)?
        var isKilled = false
        var outage: FerryError?
        var honoursConditions = true
        var lags = false
        /// Objects hidden from reads, though they are there.
        var hidden: Set<String> = []
        /// Objects with a failing read, and the code of the failure.
        var unreadable: [String: FerryError.Code] = [:]
        /// The failures that `unreadable` caused.
        var failures = 0
    }

    private let state = Locked(State())
    private let pageSize: Int
    package let traits: StorageTraits

    /// - Parameter pageSize: the most objects of a page.
    package init(pageSize: Int = ObjectPage.maximumObjects, traits: StorageTraits = StorageTraits()) {
        self.pageSize = pageSize
        self.traits = traits
    }

    // MARK: Settings and questions for tests

    /// The number of requests of a kind; of all kinds for `nil`. Failed requests count.
    package func count(_ request: Request? = nil) -> Int {
        state.withLock { state in request.map { state.counts[$0, default: 0] } ?? state.counts.values.reduce(0, +) }
    }

    /// Forgets the counts.
    package func resetCounts() { state.withLock { $0.counts = [:] } }

    /// Makes a request after the next `count` requests fail, once.
    package func inject(_ fault: Fault, afterRequests count: Int) { state.withLock { $0.fault = (fault, count) } }

    /// Forgets a fault that did not occur, and lets a killed process begin again.
    package func recover() {
        state.withLock { state in
            state.fault = nil
            state.isKilled = false
        }
    }

    /// True until an injected fault occurs.
    package var hasFault: Bool { state.withLock { $0.fault != nil } }

    package var isKilled: Bool { state.withLock { $0.isKilled } }

    /// Makes every request fail with an error, or none.
    package func setOutage(_ error: FerryError?) { state.withLock { $0.outage = error } }

    /// Sets whether `onlyIfAbsent` is honoured.
    package func setHonoursConditions(_ honours: Bool) { state.withLock { $0.honoursConditions = honours } }

    /// Sets whether listings return the objects of this moment, until the next call.
    package func setListingsLag(_ lags: Bool) {
        state.withLock { state in
            state.lags = lags
            state.listed = state.objects
        }
    }

    /// Sets the keys hidden from reads.
    package func hide(_ keys: Set<String>) { state.withLock { $0.hidden = keys } }

    /// Sets the keys with a failing read. All further keys can be read.
    /// - Parameter code: `accessDenied` for a refusal, `inputOutput` for a failure of the storage's own, `containerMissing` for no answer.
    package func setUnreadable(_ keys: Set<String>, _ code: FerryError.Code = .inputOutput) {
        state.withLock { $0.unreadable = Dictionary(uniqueKeysWithValues: keys.map { ($0, code) }) }
    }

    /// The number of reads that failed by `setUnreadable`.
    package var failures: Int { state.withLock { $0.failures } }

    /// All objects, by key.
    package var contents: [String: [UInt8]] { state.withLock { $0.objects.mapValues(\.bytes) } }

    /// Replaces all objects, like a provider's return to an older state.
    package func restore(_ contents: [String: [UInt8]]) {
        state.withLock { state in
            state.number += 1
            state.objects = contents.mapValues { Object(bytes: $0, tag: Self.tag($0), written: state.number) }
        }
    }

    /// Writes or removes an object past the requests.
    package func set(_ key: String, _ bytes: [UInt8]?) {
        state.withLock { state in
            state.number += 1
            state.objects[key] = bytes.map { Object(bytes: $0, tag: Self.tag($0), written: state.number) }
        }
    }

    private static func tag(_ bytes: [UInt8]) -> String { "\"" + ContentHash.checksum(bytes).hex + "\"" }

    /// Counts a request, makes it, and lets it fail on an injected fault.
    private func request<Answer>(_ kind: Request, _ body: (inout State) throws -> Answer) throws -> Answer {
        try state.withLock { state in
            state.counts[kind, default: 0] += 1
            if state.isKilled { throw SimulatedCrash() }
            if let outage = state.outage { throw outage }
            state.number += 1
            guard let fault = state.fault else { return try body(&state) }
            if fault.after > 0 {
                state.fault?.after -= 1
                return try body(&state)
            }
            state.fault = nil
            switch fault.kind {
            case .refused: throw Self.failure("The storage refused a request (503 SlowDown).")
            case .answerLost:
                _ = try body(&state)
                throw Self.failure("The answer of the storage got lost.")
            case .killedBefore:
                state.isKilled = true
                throw SimulatedCrash()
            case .killedAfter:
                _ = try body(&state)
                state.isKilled = true
                throw SimulatedCrash()
            }
        }
    }

    private static func failure(_ message: String) -> FerryError {
        FerryError(.containerMissing, message + " Try again.")
    }

    // MARK: ObjectStorage

    package func list(_ prefix: String, after key: String?, _ token: String?) throws -> ObjectPage {
        try request(.list) { state in
            let objects = state.lags ? state.listed : state.objects
            let start = token ?? key ?? ""
            let found = objects.filter { $0.key.hasPrefix(prefix) && (start.isEmpty || Self.isBefore(start, $0.key)) }
                .sorted { Self.isBefore($0.key, $1.key) }
            let page = found.prefix(pageSize).map {
                ListedObject(key: $0.key, size: $0.value.bytes.count, tag: $0.value.tag)
            }
            return ObjectPage(objects: page, next: found.count > pageSize ? page.last?.key : nil)
        }
    }

    private static func isBefore(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    package func get(_ key: String, unless tag: String?, maximumBytes: Int) throws -> ObjectAnswer {
        try request(.get) { state in
            guard let object = state.objects[key], !state.hidden.contains(key) else { return .absent }
            try checkReadable(key, &state)
            if object.tag == tag { return .same }
            guard object.bytes.count <= maximumBytes else {
                throw FerryError.tooLarge(describe(key), size: object.bytes.count, maximumBytes: maximumBytes)
            }
            return .found(bytes: object.bytes, tag: object.tag)
        }
    }

    package func get(_ key: String, range: Range<Int>) throws -> [UInt8]? {
        try request(.get) { state in
            guard let object = state.objects[key], !state.hidden.contains(key) else { return nil }
            try checkReadable(key, &state)
            return Array(object.bytes[range.clamped(to: 0..<object.bytes.count)])
        }
    }

    private func checkReadable(_ key: String, _ state: inout State) throws {
        guard let code = state.unreadable[key] else { return }
        state.failures += 1
        let reasons: [FerryError.Code: String] = [
            .accessDenied: "403 AccessDenied", .containerMissing: "no answer in time",
        ]
        let reason = reasons[code] ?? "500 InternalError"
        throw FerryError(
            code, "The storage cannot read \(key): \(reason). Try again later.", path: describe(key), detail: reason)
    }

    package func put(_ key: String, _ bytes: [UInt8], onlyIfAbsent: Bool) throws -> PutAnswer {
        try request(.put) { state in
            if onlyIfAbsent, state.honoursConditions, state.objects[key] != nil { return .present }
            let object = Object(bytes: bytes, tag: Self.tag(bytes), written: state.number)
            state.objects[key] = object
            return .written(tag: object.tag)
        }
    }

    package func delete(_ key: String) throws {
        try request(.delete) { state in state.objects[key] = nil }
    }

    package func describe(_ key: String) -> String { "memory:" + key }
}
