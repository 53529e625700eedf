import FerryContainer
import FerryCore
import Foundation

/// An S3-compatible object storage: six requests, each signed, repeated and understood (Docs/Stores.md).
///
/// Invariants:
/// - A request is signed anew at every attempt, with the time of the attempt.
/// - The offset between the clocks serves signatures alone, and comes from the last answer.
/// - No error holds a key, a token, a signature or a query.
package final class S3Storage: ObjectStorage {
    static let maximumAttempts = 5
    /// The first and the longest wait, in milliseconds. Each wait is a random part of its limit.
    static let firstWaitMilliseconds = 100
    static let longestWaitMilliseconds = 10_000
    /// The greatest clock offset without a report, in milliseconds.
    static let clockMilliseconds: Int64 = 300_000

    /// After a silence: how long the storage counts as silent, in milliseconds, and how long a request waits meanwhile, in seconds. So one
    /// command waits for half a minute, and not for half a minute with each of its requests.
    static let afterSilenceMilliseconds: Int64 = 30_000
    static let shortSilenceSeconds = 3
    /// After a silence about an object: how long a request for an object waits for the short time only, in milliseconds, though the storage
    /// answers otherwise.
    static let afterObjectSilenceMilliseconds: Int64 = 600_000
    /// After an answer: how long the storage counts as answering, in milliseconds, and how long a read of an object waits meanwhile, in
    /// seconds. A silence is then probably about the object.
    static let afterAnswerMilliseconds: Int64 = 60_000
    static let answeringSilenceSeconds = 10
    /// How long the attempts at a request may pause altogether, in milliseconds.
    static let longestPauseMilliseconds = 30_000

    private let location: S3Location
    private let source: any CredentialSource
    private let transport: any HTTPTransport
    private let clock: any WallClock
    private let random: any RandomSource
    private let wait: (@Sendable (_ milliseconds: Int) -> Void)?
    private let retryPause = RetryPause()
    private let state: Locked<State>

    private struct State {
        var region: String
        /// The server's clock less this computer's, in milliseconds.
        var offset: Int64 = 0
        var takesConditions = true
        /// Until when a further request waits for a short time only, in milliseconds since the Unix epoch; `nil` after an answer.
        var silentUntil: Int64?
        /// Until when a read of an object waits for a short time only, whatever answers come.
        var objectsSilentUntil: Int64 = .min
        /// Until when the storage counts as answering.
        var answeringUntil: Int64 = .min

        /// How long a request waits for a byte, in seconds; `nil`: the usual time.
        func patience(_ call: Call, at now: Int64) -> Int? {
            if isSilent(call, at: now) { return S3Storage.shortSilenceSeconds }
            return call.readsObject && now < answeringUntil ? S3Storage.answeringSilenceSeconds : nil
        }

        func isSilent(_ call: Call, at now: Int64) -> Bool {
            silentUntil.map { now < $0 } ?? false || call.readsObject && now < objectsSilentUntil
        }
    }

    package let traits = StorageTraits()

    /// - Parameters:
    ///   - region: used where the location names none.
    ///   - surroundings: time and chance.
    init(
        _ location: S3Location, source: any CredentialSource, transport: any HTTPTransport, region: String? = nil,
        surroundings: Surroundings = Surroundings()
    ) {
        self.location = location
        self.source = source
        self.transport = transport
        clock = surroundings.clock
        random = surroundings.random
        wait = surroundings.wait
        state = Locked(State(region: location.region ?? region ?? "us-east-1"))
    }

    /// Time and chance.
    struct Surroundings: Sendable {
        var clock: any WallClock = SystemClock()
        var random: any RandomSource = SystemRandom()
        /// Replaces a pause of real time.
        var wait: (@Sendable (_ milliseconds: Int) -> Void)?
    }

    /// The storage of a location, with the usual credentials and libcurl.
    package convenience init(_ location: S3Location) {
        let chain = CredentialChain(location)
        self.init(
            location, source: chain,
            transport: CurlTransport(authorityFile: location.authorityFile ?? chain.authorityFile), region: chain.region
        )
    }

    /// How far the server's clock is ahead of this computer's, as of the last answer, in milliseconds.
    package var clockOffsetMilliseconds: Int64 { state.withLock { $0.offset } }

    /// Whether the storage honours conditions, as far as is known.
    package var takesConditions: Bool { state.withLock { $0.takesConditions } }

    package func describe(_ key: String) -> String { location.place + (key.isEmpty ? "" : "/" + key) }

    /// The whole key of a name.
    func key(_ name: String) -> String { location.prefix.isEmpty ? name : location.prefix + "/" + name }

    // MARK: ObjectStorage

    package func list(_ prefix: String, after key: String?, _ token: String?) throws -> ObjectPage {
        let base = self.key("")
        var call = Call("GET", key: "")
        call.query = [("list-type", "2"), ("prefix", base + prefix), ("encoding-type", "url")]
        if let key { call.query.append(("start-after", base + key)) }
        if let token { call.query.append(("continuation-token", token)) }
        call.maximumBytes = S3Answer.maximumPageBytes
        let response = try send(call)
        guard response.status == 200 else { throw refusal(response, call) }
        return try S3Answer.page(response.body, below: base, of: describe(""))
    }

    package func get(_ key: String, unless tag: String?, maximumBytes: Int) throws -> ObjectAnswer {
        var call = Call("GET", key: key)
        if let tag { call.headers.append(("if-none-match", tag)) }
        call.maximumBytes = maximumBytes
        let response = try send(call)
        switch response.status {
        case 200 where response.body.count > maximumBytes: throw tooLong(call)
        case 200: return .found(bytes: response.body, tag: try self.tag(response, call))
        case 304: return .same
        case 404 where S3Answer.failure(response.body).code != "NoSuchBucket": return .absent
        default: throw refusal(response, call)
        }
    }

    package func get(_ key: String, range: Range<Int>) throws -> [UInt8]? {
        var call = Call("GET", key: key)
        call.headers.append(("range", HTTPRange.header(range)))
        call.maximumBytes = HTTPRange.maximumBytes(range)
        let response = try send(call)
        if let bytes = HTTPRange.bytes(of: response, range) { return bytes }
        if response.status == 404, S3Answer.failure(response.body).code != "NoSuchBucket" { return nil }
        throw refusal(response, call)
    }

    package func put(_ key: String, _ bytes: [UInt8], onlyIfAbsent: Bool) throws -> PutAnswer {
        var call = Call("PUT", key: key)
        call.body = bytes
        call.headers.append(("content-type", "application/octet-stream"))
        call.isConditional = onlyIfAbsent
        let response = try send(call)
        switch response.status {
        case 200, 201, 204: return .written(tag: try tag(response, call))
        case 412: return .present
        // Somebody writes the same key at this moment. Attempts that met this answer are over, and a read finds the
        // result.
        case 409: return .present
        default: throw refusal(response, call)
        }
    }

    package func delete(_ key: String) throws {
        let call = Call("DELETE", key: key)
        let response = try send(call)
        guard [200, 202, 204, 404].contains(response.status), S3Answer.failure(response.body).code != "NoSuchBucket"
        else {
            throw refusal(response, call)
        }
    }

    private func tag(_ response: HTTPResponse, _ call: Call) throws -> String {
        guard let tag = response.headers["etag"], !tag.isEmpty, tag.utf8.count <= 256 else {
            throw FerryError(
                .inputOutput, "\(describe(call.key)): the storage says no ETag. Is it S3-compatible?",
                path: describe(call.key))
        }
        return tag
    }

    // MARK: Attempts

    struct Call {
        var method: String
        /// A name in the container; empty for the bucket.
        var key: String
        var query: [(name: String, value: String)] = []
        var headers: [(name: String, value: String)] = []
        var body: [UInt8]?
        var isConditional = false
        var maximumBytes = S3Answer.maximumErrorBytes

        /// True for a read of an object beside the marker.
        var readsObject: Bool { method == "GET" && !key.isEmpty && key != ContainerDescription.fileName }

        init(_ method: String, key: String) {
            self.method = method
            self.key = key
        }
    }

    /// Sends a request until an answer is final.
    func send(_ call: Call) throws -> HTTPResponse {
        var (attempt, isRefused, corrections, paused) = (1, false, Set<String>(), 0)
        let start = retryPause.interruptions
        while true {
            let credentials = try source.credentials(at: clock.milliseconds(), isRefused: isRefused)
            isRefused = false
            let response: HTTPResponse
            do {
                response = try perform(call, credentials)
            } catch {
                // A connection may have died unnoticed, so a silent storage is asked again, for a short time and once.
                let isRepeated = error.kind == .silent && noteSilence(call)
                guard [.unreachable, .silent].contains(error.kind), !isRepeated, attempt < Self.maximumAttempts,
                    pause(attempt, nil, &paused, since: start)
                else {
                    if attempt > 1, error.kind == .silent { noteSilentObject(call) }
                    throw failure(error, call)
                }
                attempt += 1
                continue
            }
            noteAnswer()
            note(response)
            switch S3Verdict(response, isConditional: call.isConditional) {
            case .answer: return response
            case .again:
                guard attempt < Self.maximumAttempts, pause(attempt, Self.retryAfter(response), &paused, since: start)
                else { return response }
                attempt += 1
            case .withoutCondition:
                guard
                    state.withLock({ state in
                        defer { state.takesConditions = false }
                        return state.takesConditions
                    })
                else { return response }
            case .correction(let name, let region):
                // Each correction is made once: a storage with repeated refusals means the refusal.
                guard corrections.insert(name).inserted else { return response }
                if let region { state.withLock { $0.region = region } }
                isRefused = name == "credentials"
            }
        }
    }

    private func perform(_ call: Call, _ credentials: S3Credentials) throws(HTTPFailure) -> HTTPResponse {
        let (region, offset, takesConditions) = state.withLock { ($0.region, $0.offset, $0.takesConditions) }
        let address = S3Address(location, region: region)
        let signature = S3Signature(credentials, region: region, milliseconds: clock.milliseconds() + offset)
        let path = address.path(of: call.method == "GET" && call.key.isEmpty ? "" : key(call.key))
        let bodyHash = S3Signature.hash(call.body ?? [])
        var headers = call.headers
        headers += [
            ("host", address.authority), ("x-amz-content-sha256", bodyHash), ("x-amz-date", signature.timestamp),
        ]
        if let token = credentials.token { headers.append(("x-amz-security-token", token)) }
        if call.isConditional, takesConditions { headers.append(("if-none-match", "*")) }
        let authorization = signature.authorization(
            S3Signature.Signed(method: call.method, path: path, query: call.query, headers: headers, bodyHash: bodyHash)
        )
        headers.append(("authorization", authorization))
        var request = HTTPRequest(
            call.method, address.url(path, S3Signature.canonicalQuery(call.query)), headers: headers, body: call.body)
        let now = clock.milliseconds()
        if let patience = state.withLock({ $0.patience(call, at: now) }) { request.silenceSeconds = patience }
        return try transport.perform(
            request, maximumBytes: max(call.maximumBytes, S3Answer.maximumErrorBytes))
    }

    private func noteAnswer() {
        let end = clock.milliseconds() + Self.afterAnswerMilliseconds
        state.withLock { ($0.silentUntil, $0.answeringUntil) = (nil, end) }
    }

    /// - Returns: true if the storage, or its objects, counted as silent already.
    private func noteSilence(_ call: Call) -> Bool {
        let now = clock.milliseconds()
        return state.withLock { state in
            let wasSilent = state.isSilent(call, at: now)
            state.silentUntil = now + Self.afterSilenceMilliseconds
            return wasSilent
        }
    }

    /// Records that an object got no answer in the whole time. After a short wait alone nothing is recorded, so from time to time an object
    /// gets the whole time.
    private func noteSilentObject(_ call: Call) {
        guard call.readsObject else { return }
        let end = clock.milliseconds() + Self.afterObjectSilenceMilliseconds
        state.withLock { $0.objectsSilentUntil = end }
    }

    private func note(_ response: HTTPResponse) {
        guard let date = response.headers["date"].flatMap(HTTPDate.milliseconds(header:)) else { return }
        let offset = date - clock.milliseconds()
        // A second is lost in the header's form: small offsets mean nothing.
        state.withLock { $0.offset = offset.magnitude < 2000 ? 0 : offset }
    }

    /// Waits before the next attempt.
    /// - Parameters:
    ///   - retryAfter: the wait that the storage asks for, in seconds.
    ///   - paused: the pauses of the request so far, in milliseconds.
    /// - Returns: false after an interruption, and where the pauses would be too long: no further attempt is wanted.
    private func pause(_ attempt: Int, _ retryAfter: Int?, _ paused: inout Int, since start: Int) -> Bool {
        let longest = min(Self.firstWaitMilliseconds << (attempt - 1), Self.longestWaitMilliseconds)
        let least = min(retryAfter ?? 0, Self.longestPauseMilliseconds) * 1000
        let milliseconds = max(Int(random.next() % UInt64(longest + 1)), least)
        paused += milliseconds
        if paused > Self.longestPauseMilliseconds { return false }
        guard let wait else { return retryPause.wait(milliseconds: milliseconds, since: start) }
        wait(milliseconds)
        return retryPause.interruptions == start
    }

    /// The wait that a storage asks for, in seconds; `nil` without such a wish.
    private static func retryAfter(_ response: HTTPResponse) -> Int? {
        response.headers["retry-after"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    }

    package func interrupt() {
        source.interrupt()
        retryPause.interrupt()
        transport.interrupt()
    }

    // MARK: Failures

    private func failure(_ failure: HTTPFailure, _ call: Call) -> FerryError {
        let service = location.serviceName
        switch failure.kind {
        case .unreachable, .silent:
            return FerryError(
                .containerMissing,
                "\(service) cannot be reached (\(failure.reason)). Check the network and the address.",
                path: describe(""), detail: failure.reason)
        case .certificate:
            return FerryError(
                .containerMissing,
                "The certificate of \(service) is not trusted (\(failure.reason)). Where it is your own, name its authority: "
                    + "--ca-file of `ferry init` and `ferry join`, and later of `ferry relocate`.", path: describe(""),
                detail: failure.reason)
        case .tooLong: return tooLong(call)
        case .interrupted:
            return FerryError(
                .busy, "A request to \(service) was ended before the answer. Try again.", path: describe(""))
        case .missingLibrary:
            return FerryError(
                .containerMissing,
                "\(service) cannot be reached: \(failure.reason).", path: describe(""), detail: failure.reason)
        case .impossible:
            return FerryError(
                .inputOutput, "\(service) cannot be asked: \(failure.reason).", path: describe(""),
                detail: failure.reason)
        }
    }

    private func tooLong(_ call: Call) -> FerryError {
        FerryError(
            .limitExceeded, "\(describe(call.key)) is longer than \(call.maximumBytes) bytes; no more are read there.",
            path: describe(call.key))
    }

    /// Whose key is used, for a sentence.
    private var owner: String { location.profile.map { "of profile \"\($0)\" " } ?? "" }

    private func wrongCredentials(_ fault: String, _ what: String) -> FerryError {
        let place =
            location.profile == nil ? "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile" : "the profile"
        return FerryError(
            .accessDenied, "\(location.serviceName) \(fault)(\(what)). Check \(place).", path: describe(""),
            detail: what)
    }

    private func refusal(_ response: HTTPResponse, _ call: Call) -> FerryError {
        let code = S3Answer.failure(response.body).code
        let what = code.isEmpty ? "\(response.status)" : "\(response.status) \(code)"
        let offset = clockOffsetMilliseconds
        if code == "RequestTimeTooSkewed" || response.status == 403 && offset.magnitude > Self.clockMilliseconds {
            return FerryError(
                .accessDenied,
                "This computer's clock is \(StorageExamination.span(milliseconds: offset)) "
                    + "\(offset > 0 ? "behind" : "ahead of") \(location.serviceName)'s. Requests are signed with its time; set the date here, or your changes count as "
                    + "\(offset > 0 ? "older" : "newer") than they are.", path: describe(""))
        }
        switch (response.status, code) {
        case (_, "NoSuchBucket"):
            return FerryError(
                .containerMissing,
                "There is no bucket \(location.bucket) at \(location.serviceName). Make it, or name another one.",
                path: describe(""))
        case (_, "InvalidAccessKeyId"), (_, "InvalidClientTokenId"), (_, "UnrecognizedClientException"):
            return wrongCredentials("does not know the access key \(owner)", what)
        case (_, "SignatureDoesNotMatch"):
            return wrongCredentials(
                "refuses the signature: the secret does not belong to the access key \(owner)", what)
        case (_, "ExpiredToken"), (_, "InvalidToken"), (_, "TokenRefreshRequired"):
            return FerryError(
                .accessDenied,
                "\(location.serviceName) refuses the session token of the access key \(owner)(\(what)): it is over, or wrong. Sign in "
                    + "again, or name lasting credentials.", path: describe(""), detail: what)
        // Ceph's gateway says so by 403.
        case (507, _), (_, "QuotaExceeded"), (_, "storage_cap_exceeded"):
            return FerryError(
                .inputOutput, "\(location.bucket) is full (\(what)): there is no room. Changes wait until there is.",
                path: describe(call.key), detail: what)
        case (401, _), (403, _):
            let profile = location.profile.map { "of profile \"\($0)\" " } ?? ""
            return FerryError(
                .accessDenied,
                "\(location.bucket) refuses (\(what)): the key \(profile)may not \(Self.verb(call.method, call.key)) "
                    + "\(describe(call.key)). It needs ListBucket on that prefix, and GetObject, PutObject and DeleteObject below.",
                path: describe(call.key), detail: what)
        case (301, _), (307, _):
            return FerryError(
                .containerMissing,
                "\(location.bucket) is in another region. Name it: --region of `ferry init` and `ferry join`, and later of "
                    + "`ferry relocate`.", path: describe(""))
        case (429, _), (503, _):
            return FerryError(
                .containerMissing,
                "\(location.serviceName) asks for fewer requests (\(what)\(Self.retryWish(response))). Try again later.",
                path: describe(call.key), detail: what)
        default:
            return FerryError(
                .inputOutput,
                "\(location.serviceName) cannot \(Self.verb(call.method, call.key)) \(describe(call.key)): \(what). "
                    + "Try again later.", path: describe(call.key), detail: what)
        }
    }

    private static func retryWish(_ response: HTTPResponse) -> String {
        retryAfter(response).map { ", for \($0) s" } ?? ""
    }

    private static func verb(_ method: String, _ key: String) -> String {
        switch method {
        case "PUT": "write"
        case "DELETE": "remove"
        default: key.isEmpty ? "list" : "read"
        }
    }
}
