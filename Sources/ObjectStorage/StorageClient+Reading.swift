import HTTPCalls

extension StorageClient {
    /// Reads an object in parts, so that it needs the memory of only one part, however large it is.
    ///
    /// The whole object is requested first, which suffices for most. Ranges are used only after that: past the end,
    /// some backends promise more bytes than they have, and an empty object has no first byte to request.
    ///
    /// - Parameters:
    ///   - object: The object.
    ///   - cursor: Where to continue; nil at the start.
    ///   - limit: The maximum size of a part, in bytes.
    /// - Returns: A part; all parts belong to the same version of the object.
    /// - Throws: `CancellationError`.
    package func read(
        _ object: ObjectAddress,
        from cursor: StoragePart.Cursor? = nil,
        limit: Int = 4 << 20
    ) async throws(CancellationError) -> StorageOutcome<StoragePart> {
        if let cursor { return try await read(object.path, from: cursor, limit) }
        let whole = StorageAnswer(try await get(object.path, limit))
        switch whole {
        case .success(let bytes) where bytes.count <= limit: return .done(StoragePart(bytes: bytes, next: nil))
        case .success, .longSuccess: break
        case .unknownRoute, .gone, .misconfigured, .delayed: return whole.outcome { _ in nil }
        }
        let first = try await get(object.path, range: 0..<1, limit)
        guard case .reply(let reply) = first, reply.status == 206 else {
            // A server without range support returns the whole object again.
            return StorageAnswer(first).outcome { _ in nil }
        }
        guard let start = StoragePart.Cursor(firstByte: reply) else {
            return .later(StorageDelay(.notUnderstood(status: reply.status)))
        }
        return try await read(object.path, from: start, limit)
    }

    private func read(
        _ path: String,
        from cursor: StoragePart.Cursor,
        _ limit: Int
    ) async throws(CancellationError) -> StorageOutcome<StoragePart> {
        let outcome = try await get(path, range: cursor.offset..<min(cursor.offset + limit, cursor.size), limit)
        guard case .reply(let reply) = outcome, reply.status == 206 else {
            // A whole object in place of a range in the middle is not the requested part.
            return StorageAnswer(outcome).outcome { _ in nil }
        }
        return StoragePart.read(reply, from: cursor, limit: limit)
    }

    private func get(
        _ path: String,
        range: Range<Int>? = nil,
        _ limit: Int
    ) async throws(CancellationError) -> HTTPOutcome {
        try await perform(
            "storage.read",
            .get,
            path,
            extraHeaders: range.map { [.init("Range", "bytes=\($0.lowerBound)-\($0.upperBound - 1)")] } ?? [],
            // The body of a refusal may be longer than a short part.
            limit: max(limit, 1 << 16)
        )
    }
}
