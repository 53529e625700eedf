import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Unneeded files beside the database: packs without a row, and parts of contents that are whole, unknown or fetched by nobody. Also copies
/// of contents without a row, and leftovers of dead processes.
///
/// Invariant: a removed file was seen, and needed by nobody, for `Replica.orphanMilliseconds`. A copy waits thirty times as long, because a
/// reference may bring the content back. So nobody at work there loses anything.
struct ShelfLitter {
    private enum Item: Hashable {
        case pack(PackID)
        case partial(ContentID)
        case whole(ContentID)
        case temporary(String)

        var name: String {
            switch self {
            case .pack(let id): "pending/" + PackName(id).fileName
            case .partial(let id): "partial/" + id.hex
            case .whole(let id): "whole/" + id.hex
            case .temporary(let name): "pending/" + name
            }
        }

        /// How long the file stays before the removal, in milliseconds.
        var patience: Int64 {
            if case .whole = self { 30 * Replica.orphanMilliseconds } else { Replica.orphanMilliseconds }
        }
    }

    let replica: Replica

    /// Removes the files that were unneeded for long enough, and notes the rest.
    /// - Parameter now: in milliseconds.
    func remove(atMilliseconds now: Int64) throws {
        let known = try replica.store.contentLitter()
        var present: [String: Int64] = [:]
        for item in try items() {
            let since = known[item.name] ?? now
            if now.milliseconds(since: since) < item.patience {
                present[item.name] = min(since, now)
            } else {
                try remove(item)
            }
        }
        if present != known { try replica.store.setContentLitter(present) }
    }

    private func remove(_ item: Item) throws {
        switch item {
        case .pack(let id): try replica.shelf.removePending(id)
        case .partial(let id): try replica.shelf.discardPartial(id)
        case .whole(let id): try replica.shelf.evict(id)
        case .temporary(let name): try replica.shelf.removeTemporaryFile(name)
        }
    }

    private func items() throws -> [Item] {
        let shelf = replica.shelf
        var items = try shelf.temporaryFiles().map(Item.temporary)
        let whole = try shelf.wholeContents().map(\.id)
        items += try replica.store.readContents { rows, _ in try whole.filter { try !rows.hasContent($0) } }
            .map(Item.whole)
        let (pending, partial) = (try shelf.pendingPacks(), try shelf.partialContents())
        if !pending.isEmpty {
            items += try replica.store.readContents { rows, _ in try pending.filter { try !rows.hasPack($0) } }
                .map(Item.pack)
        }
        if !partial.isEmpty {
            let settings = try replica.store.contentSettings()
            let wanted = Set(
                try replica.store.wantedContents(maximumBytes: settings.fetchBytes, includingWhole: false)
                    .filter { !$0.isEvicted }.map(\.content))
            items += partial.filter { !wanted.contains($0) }.map(Item.partial)
        }
        return items
    }
}

extension Replica {
    /// Removes unneeded files beside the database.
    func removeShelfLitter() throws {
        guard try store.hasDocumentTables() else { return }
        try ShelfLitter(replica: self).remove(atMilliseconds: environment.clock.milliseconds())
    }
}
