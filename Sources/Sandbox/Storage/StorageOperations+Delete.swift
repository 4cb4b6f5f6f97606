import Postgres

extension StorageOperations {
    /// How many keys one transaction takes; a call above it can end half done.
    private static let batch = 500

    /// Deletes exact keys: 200 with the rows that went, which may be none for any of several reasons.
    func deleteMany(
        _ bucket: String,
        _ keys: [String],
        as caller: StorageCaller,
        carryOut: Bool
    ) async throws -> Reply {
        guard !keys.isEmpty else {
            throw StorageFailure.invalidRequest("body/prefixes must NOT have fewer than 1 items")
        }
        var deleted: [String] = []
        for start in stride(from: 0, to: keys.count, by: Self.batch) {
            let names = Array(keys[start..<min(start + Self.batch, keys.count)])
            do {
                deleted += try await scope.run(as: caller, operation: operation) { connection in
                    // RETURNING needs the select policies as well: what the caller cannot see it cannot delete.
                    let rows = try connection.query(
                        """
                        delete from storage.objects as o
                        where o.bucket_id = \(bucket)
                          and o.name = any(\(names))
                        returning o.name, o.version, (\(Self.objectAsJSON))::text
                        """,
                        as: (String, String?, String).self
                    )
                    guard carryOut else { throw PretendedRows(rows: rows.map(\.2)) }
                    // Rows first, then bytes: bytes that cannot be removed bring this batch's rows back.
                    for (name, version, _) in rows {
                        guard let version else { continue }
                        try files.remove(bucket: bucket, key: name, version: version)
                    }
                    return rows.map(\.2)
                }
            } catch let pretended as PretendedRows {
                deleted += pretended.rows
            }
        }
        return .text("[" + deleted.joined(separator: ",") + "]", contentType: "application/json; charset=utf-8")
    }

    /// Deletes one key; here a missing one is an error.
    func deleteOne(_ bucket: String, _ key: String, as caller: StorageCaller, carryOut: Bool) async throws -> Reply {
        let reply = Reply.text(
            #"{"message":"Successfully deleted"}"#,
            contentType: "application/json; charset=utf-8"
        )
        try await scope.run(as: caller, operation: operation) { connection in
            let version = try connection.first(
                """
                select o.version
                from storage.objects as o
                where o.bucket_id = \(bucket)
                  and o.name = \(key)
                for update
                """,
                as: String?.self
            )
            guard let version else { throw StorageFailure.noSuchKey }
            let count = try connection.execute(
                """
                delete from storage.objects as o
                where o.bucket_id = \(bucket)
                  and o.name = \(key)
                """
            )
            guard count == 1 else { throw StorageFailure.accessDenied("Access denied") }
            guard carryOut else { throw Pretended(reply: reply) }
            if let version { try files.remove(bucket: bucket, key: key, version: version) }
        }
        return reply
    }

    private struct PretendedRows: Error {
        let rows: [String]
    }
}
