/// Requests of a device to an object storage, by kind and by what they are for, and the bytes of the answers.
package struct RequestCounts: Hashable, Sendable {
    /// GETs of `latest` without news, and with news.
    package var quietLooks = 0
    package var looks = 0
    package var segmentReads = 0
    package var headReads = 0
    package var otherReads = 0
    /// Pages of listings.
    package var listings = 0
    package var segmentWrites = 0
    package var headWrites = 0
    package var latestWrites = 0
    package var otherWrites = 0
    package var deletions = 0
    package var bytesRead = 0

    package init() {}

    package var reads: Int { quietLooks + looks + segmentReads + headReads + otherReads }
    package var writes: Int { segmentWrites + headWrites + latestWrites + otherWrites }
    package var all: Int { reads + listings + writes + deletions }

    /// The kinds in the order of a report.
    package static let kinds: [(name: String, count: @Sendable (RequestCounts) -> Int)] = [
        ("GET of latest without news", { $0.quietLooks }), ("GET of latest with news", { $0.looks }),
        ("GET of a segment", { $0.segmentReads }), ("GET of a head", { $0.headReads }),
        ("other GET", { $0.otherReads }),
        ("LIST, pages", { $0.listings }), ("PUT of a segment", { $0.segmentWrites }),
        ("PUT of a head", { $0.headWrites }),
        ("PUT of latest", { $0.latestWrites }), ("other PUT", { $0.otherWrites }), ("DELETE", { $0.deletions }),
    ]

    package static func + (left: RequestCounts, right: RequestCounts) -> RequestCounts {
        var sum = left
        for field in fields { sum[keyPath: field] += right[keyPath: field] }
        return sum
    }

    package static func - (left: RequestCounts, right: RequestCounts) -> RequestCounts {
        var rest = left
        for field in fields { rest[keyPath: field] -= right[keyPath: field] }
        return rest
    }

    private static var fields: [WritableKeyPath<RequestCounts, Int>] {
        [
            \.quietLooks, \.looks, \.segmentReads, \.headReads, \.otherReads, \.listings, \.segmentWrites, \.headWrites,
            \.latestWrites, \.otherWrites, \.deletions, \.bytesRead,
        ]
    }
}

/// What a storage asks for requests and for bytes that leave the storage, in dollars.
package struct StoragePrices: Hashable, Sendable {
    /// Of a PUT or a LIST, and of a GET. A DELETE is free of charge.
    package var write: Double
    package var read: Double
    /// Of a byte beyond the free bytes of a month.
    package var byte: Double
    package var freeBytes: Double

    package init(write: Double, read: Double, byte: Double, freeBytes: Double) {
        (self.write, self.read, self.byte, self.freeBytes) = (write, read, byte, freeBytes)
    }

    /// Amazon S3 Standard, us-east-1, 2026.
    package static let amazon = StoragePrices(write: 5e-6, read: 0.4e-6, byte: 0.09e-9, freeBytes: 100e9)

    /// The price of requests.
    package func requests(_ counts: RequestCounts) -> Double {
        Double(counts.reads) * read + Double(counts.writes + counts.listings) * write
    }

    /// The price of the bytes that leave the storage in a month.
    package func leaving(bytes: Double) -> Double { max(bytes - freeBytes, 0) * byte }
}
