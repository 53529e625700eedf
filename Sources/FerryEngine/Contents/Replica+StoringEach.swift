import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Storing contents of files in use by other programs.
extension Replica {
    /// Stores files as contents, like `storeContents`. An unreadable file, a file with a writer, or one without room beside the database
    /// does not stop the rest.
    /// - Returns: in the order of the paths the content, or why there is no content.
    /// - Throws: where the disk of the database fails: nothing is stored.
    package func storeEach(_ paths: [String]) throws -> [Result<StoredContent, FerryError>] {
        do {
            return try storeTogether(paths)
        } catch let error as FerryError where error.isOfRoom && !paths.isEmpty {
            // A pack for several files had no room: fewer files may have.
            guard paths.count > 1 else { return [.failure(Self.withoutRoom(paths[0], shelf.root, error))] }
            let half = paths.count / 2
            return try storeEach(Array(paths[..<half])) + storeEach(Array(paths[half...]))
        }
    }

    private static func withoutRoom(_ path: String, _ place: String, _ error: FerryError) -> FerryError {
        FerryError(
            .limitExceeded, "There is no room for \(path) at \(place). Free some space there.", path: path,
            cause: error.cause)
    }

    private func storeTogether(_ paths: [String]) throws -> [Result<StoredContent, FerryError>] {
        var failures: [Int: FerryError] = [:]
        let stored = try storing { writer in
            var stored: [(path: String, content: ContentWriter.Stored)] = []
            for (place, path) in paths.enumerated() {
                guard let file = open(path, &failures[place]) else { continue }
                do {
                    stored.append((path, try writer.add(file)))
                } catch let error as FerryError
                    where error.code == .busy || error.code == .limitExceeded || error.path == path
                {
                    failures[place] = error
                } catch let error as FerryError where error.isOfRoom && !writer.isOver {
                    failures[place] = Self.withoutRoom(path, shelf.root, error)
                }
            }
            return stored
        }
        var rest = stored[...]
        return try paths.indices.map { place in
            if let failure = failures[place] { return .failure(failure) }
            guard let content = rest.popFirst() else {
                throw FerryError(.internalInconsistency, "A file was stored and its content is missing.")
            }
            return .success(content)
        }
    }

    private func open(_ path: String, _ failure: inout FerryError?) -> (any ReadableFile)? {
        do {
            return try openForStoring(path)
        } catch {
            failure = (error as? FerryError) ?? FerryError(.inputOutput, "\(error)", path: path)
            return nil
        }
    }
}
