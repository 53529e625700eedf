import FerryCore

/// Requests for single objects. An object without an answer, from a storage that answers otherwise, is asked for again seldom.
extension RemoteBackend {
    /// An object to ask for again after 1, 2, 4 … 60 seconds.
    struct Late {
        static let maximumDelay: Int64 = 60_000

        /// The first time.
        var since: Int64
        /// The earliest next time, and how long to wait then.
        var next: Int64
        var delay: Int64

        /// - Parameter delay: the first delay, in milliseconds.
        init(at now: Int64, delay: Int64 = 1000) {
            since = now
            self.delay = min(delay, Self.maximumDelay)
            next = now + self.delay
        }

        /// Delays the next attempt further.
        mutating func repeatLater(_ now: Int64) {
            delay = min(delay * 2, Self.maximumDelay)
            next = now + delay
        }
    }

    /// Reads an object; as `ObjectStorage.get`.
    func get(_ name: String, unless tag: String?, maximumBytes: Int) throws -> ObjectAnswer {
        try ask(name) { try storage.get(name, unless: tag, maximumBytes: maximumBytes) }
    }

    /// Makes a request for an object. After a request without an answer, the failure stands for a while, and no request is made.
    /// - Throws: `inputOutput` in place of `containerMissing`, where the storage gives no answer for this object alone.
    func ask<Answer>(_ name: String, _ request: () throws -> Answer) throws -> Answer {
        let start = clock.milliseconds()
        if let failed = state.withLock({ $0.failed[name] }), failed.late.next > start { throw failed.error }
        do {
            let answer = try request()
            _ = state.withLock { $0.failed.removeValue(forKey: name) }
            return answer
        } catch let error as FerryError
            where error.code == .containerMissing && name != ContainerDescription.fileName
        {
            guard state.withLock({ $0.goesOnWithoutSilentFiles }), answersForMarker() else { throw error }
            let failure = FerryError(
                .inputOutput,
                "\(describe(name)) gives no answer (\(error.detail ?? error.message)), though the storage answers otherwise. "
                    + "Try again later.", path: describe(name), cause: error, detail: error.detail)
            let now = clock.milliseconds()
            state.withLock { state in
                // An object that hangs is not waited for again at once.
                var late = Late(at: now, delay: max(now - start, 1000))
                if let failed = state.failed[name] {
                    late = failed.late
                    late.repeatLater(now)
                }
                state.failed[name] = (failure, late)
            }
            throw failure
        }
    }

    package func goOnWithoutSilentFiles() { state.withLock { $0.goesOnWithoutSilentFiles = true } }

    /// Whether the storage answers a request for the marker.
    private func answersForMarker() -> Bool {
        let name = ContainerDescription.fileName
        let tag = state.withLock { $0.kept[name]?.tag }
        // The failure of the first request is told.
        return (try? storage.get(name, unless: tag, maximumBytes: Self.maximumKeptBytes)) != nil
    }
}
