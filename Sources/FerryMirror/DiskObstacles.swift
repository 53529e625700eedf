import FerryCore

/// Something in a directory that is neither a file nor a folder of the directory's disk. The words are fixed: they stand in the database.
package enum DiskObstacle: String, Codable, Hashable, Sendable {
    case link
    /// A socket, a pipe, a device.
    case special
    case otherDisk
    /// The document's own file, under a name outside UTF-8.
    case unreadableName
    /// A folder whose names Ferry may not list. Everything in it stays as it is, here and in the documents.
    case closedFolder

    /// Why no document is made of a file or a folder with a name outside UTF-8.
    package static let unreadable = StuckItem.Reason.name.words

    /// The obstacle with an article.
    var words: String {
        switch self {
        case .link: "a link"
        case .special: "something that is no file and no folder"
        case .otherDisk: "something of another disk"
        case .unreadableName: "its file, under a name that is not UTF-8,"
        case .closedFolder: "a folder that cannot be listed"
        }
    }

    /// Why no document is made of the obstacle.
    var refusal: String {
        switch self {
        case .link: "it is a link, and links do not travel"
        case .special: "it is no file and no folder"
        case .otherDisk: "it lies on another disk"
        case .unreadableName: Self.unreadable
        case .closedFolder: StuckItem.Reason.folder.words
        }
    }
}

/// A document not written into a directory, because something stands in the document's place or in a folder's above.
package struct BlockedDocument: Codable, Hashable, Sendable {
    /// Where the document should lie.
    package var path: String
    package var obstacle: DiskObstacle
    /// Where the obstacle stands.
    package var place: String

    /// The reason in words, with the remedy.
    package var reason: String {
        let isItself = path.utf8.elementsEqual(place.utf8)
        return "\(obstacle.words) stands in \(isItself ? "its place" : "the place of its folder \(place)"); "
            + "move that away, and the next pass writes the document"
    }
}

extension [BlockedDocument] {
    /// The obstacles in the way, in a sentence or two with the remedy.
    /// - Parameters:
    ///   - count: how many documents are blocked; these are the first of them.
    ///   - directory: the mirror's.
    package func sentence(of count: Int, in directory: String) -> String {
        var places: [String] = []
        for document in self {
            let place = "\(document.obstacle.words) stands at “\(document.place)”"
            if !places.contains(place) { places.append(place) }
        }
        let most = 3
        let more = places.count > most ? [places.count == most + 1 ? "one more like that" : "more like that"] : []
        let list = (places.prefix(most) + more).joined(separator: ", ")
        return "\(count == 1 ? "1 document is" : "\(count) documents are") not written into \(directory): \(list). "
            + "No link is followed, and nothing is replaced. Move what stands there away, and the next pass writes what is missing."
    }
}

/// Everything in a directory that stands in the way of documents.
package struct DiskObstacles: Sendable {
    private var places: [[UInt8]: (path: DiskPath, obstacle: DiskObstacle)] = [:]
    private let rules: DiskRules

    package init(_ found: [DiskPath: DiskObstacle], _ rules: DiskRules) {
        self.rules = rules
        // Of two paths with the same name for the disk, either will do.
        for (path, obstacle) in found { places[rules.key(path.text)] = (path, obstacle) }
    }

    /// The obstacle at a path, or at a folder above.
    package func block(_ path: DiskPath) -> BlockedDocument? {
        if places.isEmpty { return nil }
        var place = path
        while !place.isTop {
            if let found = places[rules.key(place.text)] {
                return BlockedDocument(path: path.text, obstacle: found.obstacle, place: found.path.text)
            }
            place = place.folder
        }
        return nil
    }

    /// True for a folder that cannot be listed, and for everything in it.
    package func isClosed(_ path: DiskPath) -> Bool { block(path)?.obstacle == .closedFolder }

    /// The obstacles in the way of no document, and why no document is made of them; in the order of paths.
    /// - Parameter blocked: the documents not written.
    package func idle(_ blocked: [BlockedDocument]) -> [DiskScan.Left] {
        let used = Set(blocked.map { DiskPath($0.place) })
        return places.values.filter { !used.contains($0.path) }.sorted { $0.path < $1.path }.map {
            DiskScan.Left(path: $0.path.text, reason: $0.obstacle.refusal)
        }
    }
}
