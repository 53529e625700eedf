import Ferry
import Foundation

/// What the app does with documents.
struct Papers {
    let documents: DocumentStore

    init(_ documents: DocumentStore) { self.documents = documents }

    /// Prints what other devices do.
    func tellNews() -> Task<Void, Never> {
        let changes = documents.changes
        return Task {
            for await change in changes where !change.isOwn {
                print("  (\(change.path): \(Self.word(change.kind)))")
            }
        }
    }

    private static func word(_ kind: DocumentEvent.Kind) -> String {
        switch kind {
        case .added: "new"
        case .saved: "another version"
        case .moved: "here now"
        case .removed: "removed"
        case .conflict: "a conflict begins or ends"
        case .availability: "its bytes came or went"
        }
    }

    /// Runs a command.
    /// - Returns: what to tell.
    func run(_ line: String) async throws -> String {
        let words = line.split(separator: " ", maxSplits: 2).map(String.init)
        switch (words[0], words.count) {
        case ("list", 1): return try list()
        case ("write", 3): return try await write(words[2], to: words[1])
        case ("read", 2): return try await read(words[1])
        case ("versions", 2): return try versions(of: words[1])
        case ("keep", 3): return try await keep(words[1], words[2])
        case ("remove", 2):
            try await documents.remove(documents.document(at: words[1]).id)
            return "\(words[1]) is in the trash."
        default: return "list, write <path> <text>, read <path>, versions <path>, keep <path> <number>, remove <path>"
        }
    }

    private func list() throws -> String {
        let entries = try documents.list(recursively: true).filter { $0.kind == .file }
        if entries.isEmpty { return "Nothing yet." }
        return entries.map { entry in
            let conflict = entry.rivals.isEmpty ? "" : ", \(entry.rivals.count + 1) versions: settle them with `keep`"
            return "\(entry.path)  \(entry.byteCount ?? 0) bytes\(conflict)"
        }.joined(separator: "\n")
    }

    /// An edit names the version on top of which it was made. So what another device wrote meanwhile stays, as a rival.
    private func write(_ text: String, to path: String) async throws -> String {
        let draft = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data(text.utf8).write(to: draft)
        defer { try? FileManager.default.removeItem(at: draft) }  // a temporary file
        guard let entry = try present(path) else {
            _ = try await documents.add(draft, at: path)
            return "\(path) is there now."
        }
        let open = try await documents.open(entry.id)
        try await open.save(draft)
        return "\(path) has another version."
    }

    private func present(_ path: String) throws -> DocumentEntry? {
        do {
            return try documents.document(at: path)
        } catch let error as FerryError where error.code == .nothingFound {
            return nil
        }
    }

    private func read(_ path: String) async throws -> String {
        let open = try await documents.open(documents.document(at: path).id)
        return try String(contentsOf: open.file, encoding: .utf8)
    }

    private func versions(of path: String) throws -> String {
        try documents.versions(of: documents.document(at: path).id).map { version in
            let role = version.isCurrent ? "shown" : version.isRival ? "a rival" : "former"
            return "\(version.number)  \(role), by \(version.device ?? "a merge"), \(version.byteCount ?? 0) bytes"
        }.joined(separator: "\n")
    }

    private func keep(_ path: String, _ number: String) async throws -> String {
        let id = try documents.document(at: path).id
        guard let version = try documents.versions(of: id).first(where: { String($0.number) == number }) else {
            return "There is no version \(number): `versions \(path)` lists them."
        }
        try await documents.settle(id, .keep(version.id))
        return "\(path) is settled."
    }
}
