import FerryCore
import Foundation

/// The page's site: every request comes through here, and every answer.
package struct PageSite: Sendable {
    private let gate: PageGate
    private let source: any PageSource
    private let events: EventHub
    private let isReadOnly: Bool

    /// - Parameter isReadOnly: true to refuse all acts.
    package init(gate: PageGate, source: any PageSource, events: EventHub, isReadOnly: Bool) {
        self.gate = gate
        self.source = source
        self.events = events
        self.isReadOnly = isReadOnly
    }

    package func respond(to request: PageRequest) async -> PageResponse {
        if let refusal = gate.refusal(request) { return refusal }
        let parts = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts.first.map(String.init) ?? ""
        let prefix = "/api/"
        guard path.hasPrefix(prefix) else { return asset(path, request.method) }
        if let refusal = gate.refusalOfData(request) { return refusal }
        let name = path.dropFirst(prefix.count)
        do {
            let query = try PageQuery(parts.count > 1 ? parts[1] : "")
            switch request.method {
            case "GET":
                if name == "events" { return try stream() }
                if let question = try PageQuestion(name, query) { return .json(try await source.answer(question)) }
                return Self.acts.contains(String(name)) ? Self.wrongMethod("POST") : Self.nothing
            case "POST":
                if isReadOnly {
                    return .failure(403, .accessDenied, "The page was started with --read-only, so it changes nothing.")
                }
                if Self.acts.contains(String(name)), let act = try PageAct(name, request.body) {
                    return .json(try await source.perform(act))
                }
                return Self.questions.contains(String(name)) ? Self.wrongMethod("GET") : Self.nothing
            default: return Self.wrongMethod(Self.acts.contains(String(name)) ? "POST" : "GET")
            }
        } catch let error as FerryError {
            return .failure(error)
        } catch {
            return .failure(
                500, .internalInconsistency, "Something unforeseen happened: \(error). Please report it.")
        }
    }

    private static let acts: Set = ["resolve", "restore-conflict", "restore-row"]
    private static let questions: Set = [
        "summary", "overview", "conflicts", "tables", "rows", "row", "hidden", "container", "verify", "events",
    ]

    private func asset(_ path: String, _ method: String) -> PageResponse {
        guard let asset = PageAsset(path: path) else { return Self.nothing }
        if method != "GET" { return Self.wrongMethod("GET") }
        return PageResponse(contentType: asset.contentType, body: .data(asset.data))
    }

    private func stream() throws -> PageResponse {
        guard let stream = events.subscribe() else {
            throw FerryError(.busy, "Too many pages are open. Close some of them.")
        }
        return PageResponse(contentType: "text/event-stream", body: .events(stream))
    }

    private static var nothing: PageResponse { .failure(404, .nothingFound, "There is nothing at this address.") }

    private static func wrongMethod(_ allowed: String) -> PageResponse {
        var response = PageResponse.failure(405, .invalidArgument, "This address takes \(allowed) only.")
        response.headers.append(("Allow", allowed))
        return response
    }
}
