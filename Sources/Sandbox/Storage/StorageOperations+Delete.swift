import Postgres

extension StorageOperations {
    /// How many keys one transaction handles; a larger call can be half done.
    private static let batch = 500

    /// Deletes exact keys and exact versions: 200 with the deleted rows, which may be none for any of several reasons.
    func deleteMany(
        _ bucket: String,
        _ entries: [DeleteBody.Entry],
        as caller: StorageCaller,
        carryOut: Bool
    ) async throws -> Reply {
        guard !entries.isEmpty else {
            throw StorageFailure.invalidRequest("body/prefixes must NOT have fewer than 1 items")
        }
        let keepsVersions = try await keepsVersions(bucket)
        var deleted: [String] = []
        for start in stride(from: 0, to: entries.count, by: Self.batch) {
            let part = Array(entries[start..<min(start + Self.batch, entries.count)])
            let names = part.filter { $0.versionId == nil }.map(\.path)
            do {
                deleted += try await scope.run(as: caller, operation: operation) { connection -> [String] in
                    var rows = try Self.remove(
                        part.compactMap { entry in entry.versionId.map { (key: entry.path, version: $0) } },
                        in: bucket,
                        on: connection
                    )
                    var marks: [String] = []
                    if keepsVersions {
                        if !names.isEmpty { marks = try Self.mark(bucket, names, on: connection) }
                    } else {
                        // RETURNING requires the select policies as well: the caller cannot delete what it cannot see.
                        rows += try connection.query(
                            """
                            delete from storage.objects as o
                            where o.bucket_id = \(bucket)
                              and o.name = any(\(names))
                            returning o.name, o.version, (\(Self.objectAsJSON))::text
                            """,
                            as: (String, String?, String).self
                        ).map { (key: $0.0, version: $0.1, row: $0.2) }
                    }
                    let shown = rows.map(\.row) + marks
                    guard carryOut else { throw PretendedRows(rows: shown) }
                    // Rows first, then bytes: if bytes cannot be removed, this batch's rows are rolled back.
                    for row in rows {
                        guard let version = row.version else { continue }
                        try files.remove(bucket: bucket, key: row.key, version: version)
                    }
                    return shown
                }
            } catch let pretended as PretendedRows {
                deleted += pretended.rows
            }
        }
        return .text("[" + deleted.joined(separator: ",") + "]", contentType: "application/json; charset=utf-8")
    }

    /// Deletes one key; here, a missing one is an error.
    func deleteOne(_ bucket: String, _ key: String, as caller: StorageCaller, carryOut: Bool) async throws -> Reply {
        let reply = Reply.text(
            #"{"message":"Successfully deleted"}"#,
            contentType: "application/json; charset=utf-8"
        )
        let keepsVersions = try await keepsVersions(bucket)
        try await scope.run(as: caller, operation: operation) { connection in
            if keepsVersions {
                _ = try Self.mark(bucket, [key], on: connection)
                guard carryOut else { throw Pretended(reply: reply) }
                return
            }
            let version = try Self.lockVersion(bucket, key, on: connection)
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
