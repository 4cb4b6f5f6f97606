import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension StorageOperations {
    /// The older listing: one level, where a folder is an entry without an id, and a case-insensitive prefix.
    func list(_ bucket: String, _ body: ListBody, as caller: StorageCaller) async throws -> Reply {
        let limit = body.limit ?? 100
        let offset = body.offset ?? 0
        guard limit >= 1, offset >= 0 else { throw StorageFailure.invalidRequest("body/limit must be >= 1") }
        var prefix = body.prefix
        if !prefix.isEmpty, !prefix.hasSuffix("/") { prefix += "/" }
        let level = prefix.split(separator: "/", omittingEmptySubsequences: false).count
        let pattern = Self.likePattern(prefix + (body.search ?? ""))
        let order = Self.order(body.sortBy)
        let text = try await scope.run(as: caller, operation: operation) { connection in
            try connection.one(
                """
                with found as (
                    select o.*, o.path_tokens[\(level)] as entry, cardinality(o.path_tokens) > \(level) as is_folder
                    from storage.objects as o
                    where o.bucket_id = \(bucket)
                      and \(Self.isCurrent)
                      and lower(o.name) collate "C" like lower(\(pattern))
                ), entries as (
                    select
                        entry as name, null::uuid as id, null::timestamptz as updated_at,
                        null::timestamptz as created_at, null::timestamptz as last_accessed_at,
                        null::jsonb as metadata, true as is_folder
                    from found
                    where is_folder
                    group by entry
                    union all
                    select entry, id, updated_at, created_at, last_accessed_at, metadata, false
                    from found
                    where not is_folder
                ), page as (
                    select row_number() over (order by is_folder desc, \(order)) as position, *
                    from entries
                    order by is_folder desc, \(order)
                    limit least(\(limit), 1500)
                    offset \(offset)
                )
                select coalesce(jsonb_agg(
                    jsonb_build_object(
                        'name', name, 'id', id, 'metadata', metadata,
                        'updated_at', to_char(updated_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                        'created_at', to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                        'last_accessed_at',
                        to_char(last_accessed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
                    )
                    order by position
                ), '[]')::text
                from page
                """,
                as: String.self
            )
        }
        return .text(text, contentType: "application/json; charset=utf-8")
    }

    /// The newer listing: pages by cursor, recursive unless a delimiter is given, with whole keys as names.
    func listPage(_ bucket: String, _ body: ListPageBody, as caller: StorageCaller) async throws -> Reply {
        let limit = min(body.limit ?? 1000, 1000)
        guard limit >= 1 else { throw StorageFailure.invalidRequest("body/limit must be >= 1") }
        let prefix = body.prefix ?? ""
        let after = try body.cursor.map(Self.decodeCursor) ?? ""
        let delimits = body.withDelimiter ?? false
        let page = try await scope.run(as: caller, operation: operation) { connection in
            try connection.one(
                """
                with found as (
                    select
                        o.*,
                        case
                            when \(delimits) and position('/' in substr(o.name, char_length(\(prefix)) + 1)) > 0
                            then \(prefix) || split_part(substr(o.name, char_length(\(prefix)) + 1), '/', 1) || '/'
                        end as folder
                    from storage.objects as o
                    where o.bucket_id = \(bucket)
                      and \(Self.isCurrent)
                      and starts_with(o.name, \(prefix))
                      -- The same condition as an index range.
                      and o.name collate "C" >= \(prefix)
                      and o.name collate "C" <= \(prefix + "\u{10FFFF}")
                ), entries as (
                    select folder as key, null::jsonb as object
                    from found
                    where folder is not null
                    group by folder
                    union all
                    select o.name, \(Self.objectAsJSON) || jsonb_build_object('key', o.name)
                    from found as o
                    where o.folder is null
                ), page as (
                    select *
                    from entries
                    where key collate "C" > \(after)
                    order by key collate "C"
                    limit \(limit) + 1
                ), shown as (
                    select *
                    from page
                    order by key collate "C"
                    limit \(limit)
                )
                select
                    coalesce(
                        jsonb_agg(jsonb_build_object('name', key, 'key', key) order by key collate "C")
                            filter (where object is null),
                        '[]'
                    )::text,
                    coalesce(jsonb_agg(object order by key collate "C") filter (where object is not null), '[]')::text,
                    max(key collate "C"),
                    (select count(*) from page) > \(limit)
                from shown
                """,
                as: (String, String, String?, Bool).self
            )
        }
        let (folders, objects, last, hasNext) = page
        var text = #"{"hasNext":\#(hasNext),"folders":\#(folders),"objects":\#(objects)"#
        if hasNext, let last {
            let encoded = String(decoding: try JSONEncoder().encode(last), as: UTF8.self)
            text += #","nextCursor":"\#(Self.encodeCursor(last))","nextCursorKey":\#(encoded)"#
        }
        return .text(text + "}", contentType: "application/json; charset=utf-8")
    }

    /// The order of folders and of objects; unknown columns and directions count as the default.
    private static func order(_ order: ListBody.Order?) -> Statement {
        let direction: Statement = order?.order?.lowercased() == "desc" ? "desc" : "asc"
        let column: Statement =
            switch order?.column {
            case "created_at": "created_at "
            case "updated_at": "updated_at "
            case "last_accessed_at": "last_accessed_at "
            default: "name collate \"C\" "
            }
        return column + direction
    }

    private static func likePattern(_ text: String) -> String {
        var pattern = ""
        for scalar in text.unicodeScalars {
            if ["%", "_", "\\"].contains(scalar) { pattern.append("\\") }
            pattern.unicodeScalars.append(scalar)
        }
        return pattern + "%"
    }

    /// A cursor is opaque to clients; only this server may rely on it being base64 of a marked key.
    private static func encodeCursor(_ key: String) -> String {
        Data("l:\(key)".utf8).base64EncodedString()
    }

    private static func decodeCursor(_ cursor: String) throws(StorageFailure) -> String {
        guard
            let data = Data(base64Encoded: cursor), let text = String(validating: data, as: UTF8.self),
            text.hasPrefix("l:")
        else { throw StorageFailure(400, "InvalidParameter", "Invalid Parameter cursor", code: "InvalidParameter") }
        return String(text.dropFirst(2))
    }
}
