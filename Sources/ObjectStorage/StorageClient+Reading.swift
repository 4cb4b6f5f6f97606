import HTTPCalls

extension StorageClient {
    /// Whether an object can be read, by asking for its first byte.
    ///
    /// - Parameters:
    ///   - key: Its exact key.
    ///   - bucket: The bucket's id.
    /// - Returns: Done when it is there, gone when it is not.
    /// - Throws: `CancellationError`.
    package func exists(key: String, in bucket: String) async throws(CancellationError) -> StorageOutcome<Void> {
        // Not HEAD: its errors have no body, and without the body a missing object cannot be told from a refusal.
        let answer = StorageAnswer(
            try await perform(
                "storage.exists",
                .get,
                Self.objectPath(key, bucket),
                extraHeaders: [.init("Range", "bytes=0-0")],
                limit: 4096
            )
        )
        if case .longSuccess = answer { return .done(()) }
        return answer.outcome { _ in () }
    }

    /// Reads an object, a part at a time: however large it is, it costs the memory of one part.
    ///
    /// - Parameters:
    ///   - key: Its exact key.
    ///   - bucket: The bucket's id.
    ///   - cursor: Where to go on; nil at the start.
    ///   - limit: The most bytes of a part.
    /// - Returns: A part, always of one and the same version of the object.
    /// - Throws: `CancellationError`.
    package func read(
        key: String,
        in bucket: String,
        from cursor: StoragePart.Cursor? = nil,
        limit: Int = 4 << 20
    ) async throws(CancellationError) -> StorageOutcome<StoragePart> {
        let start = cursor?.offset ?? 0
        let end = min(start + limit, cursor?.size ?? .max)
        let outcome = try await perform(
            "storage.read",
            .get,
            Self.objectPath(key, bucket),
            extraHeaders: [.init("Range", "bytes=\(start)-\(end - 1)")],
            // A refusal may be longer than a short part.
            limit: max(limit, 1 << 16)
        )
        if case .reply(let reply) = outcome, reply.status == 206 {
            return StoragePart.read(reply, from: cursor, limit: limit)
        }
        let answer = StorageAnswer(outcome)
        // A server that knows no parts gives the whole; in the middle that is something else than was asked for.
        if cursor != nil, case .success = answer { return .later(StorageDelay(.notUnderstood(status: 200))) }
        // Of nothing there is no first byte.
        if cursor == nil, answer.isOutOfRange {
            let whole = try await send("storage.read", .get, Self.objectPath(key, bucket), limit: limit)
            return whole.outcome { StoragePart(bytes: $0, next: nil) }
        }
        return answer.outcome { StoragePart(bytes: $0, next: nil) }
    }
}
