import Postgres

extension TestDatabase {
    /// Returns the texts of the notifications on a channel that are sent while `body` runs, in the order of the commits.
    ///
    /// The database delivers them in that order, so a last one of our own shows that nothing else is on its way.
    package func heard(on channel: String, during body: @Sendable () async throws -> Void) async throws -> [String] {
        let last = "nothing after this"
        return try await Listener.with(configuration, channels: [channel], logger: .silent) { events in
            var iterator = events.makeAsyncIterator()
            _ = await iterator.next()
            try await body()
            try await psql("select pg_notify('\(channel)', '\(last)')")
            var heard: [String] = []
            while let event = await iterator.next() {
                guard case .notification(let note) = event else { continue }
                if note.payload == last { break }
                heard.append(note.payload)
            }
            try Task.checkCancellation()
            return heard
        }
    }
}
