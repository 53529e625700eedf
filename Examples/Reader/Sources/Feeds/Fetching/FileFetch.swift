import Foundation

/// A feed in a file. It is read where it is; size, date and number of the file tell whether it changed.
/// Next pages of it are not looked for.
struct FileFetch {
    let limits: FetchLimits

    func fetch(_ request: FeedRequest) -> FetchOutcome {
        let path = request.url.path
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),  // reported just below
            attributes[.type] as? FileAttributeType == .typeRegular, FileManager.default.isReadableFile(atPath: path)
        else {
            return .failed(
                FeedError(.notFound, "there is no file \(path) that can be read; check the address"), FetchNotes())
        }
        let size = (attributes[.size] as? NSNumber)?.intValue ?? 0
        guard size <= limits.maximumBytes else {
            return .failed(
                FeedError(
                    .tooLarge,
                    "the file \(path) is larger than \(limits.maximumBytes.asByteCount); raise the limit if it may be"),
                FetchNotes())
        }
        let date = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
        let number = (attributes[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
        let notes = FetchNotes(validators: FeedValidators(etag: "file-\(size)-\(date)-\(number)"))
        if request.validators == notes.validators { return .notModified(notes) }
        let page = FetchedPage(url: request.url, charset: nil, body: FeedBody(file: request.url, byteCount: size))
        return .fetched(FetchedFeed(pages: [page], notes: notes))
    }
}
