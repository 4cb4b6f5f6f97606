import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Which texts of an account may name objects of the bucket of avatars: all of its profile, in whatever column and
/// however deep in JSON, and the metadata that people and providers write of themselves.
///
/// An app has columns of its own for other pictures, and nothing says which: a text that is none names no object.
struct AvatarTexts {
    let profiles: DeletionCatalog.Profiles

    /// The texts of the profiles, as `id` and `text`.
    var ofProfiles: Statement {
        "select p.\(identifier: profiles.key) as id, t.text from " + table + " as p cross join lateral (" + inProfile
            + ") as t (text)"
    }

    /// The texts of the accounts' metadata, likewise.
    static let ofMetadata: Statement =
        "select u.id, t.text from auth.users as u cross join lateral (" + inMetadata + ") as t (text)"

    /// A page of accounts by id, each with its profile's texts; ``metadataPage(after:limit:)`` is the other half.
    func profilePage(after last: UUID?, limit: Int) -> Statement {
        let key: Statement = "p.\(identifier: profiles.key)"
        return "select " + key + ", " + Self.cut(inProfile) + " from " + table + " as p " + Self.behind(last, key)
            + " order by 1 limit \(limit)"
    }

    /// A page of accounts by id, each with its metadata's texts.
    static func metadataPage(after last: UUID?, limit: Int) -> Statement {
        "select u.id, " + cut(inMetadata) + " from auth.users as u " + behind(last, "u.id")
            + " order by 1 limit \(limit)"
    }

    /// The texts of some accounts.
    func texts(of accounts: [UUID]) -> Statement {
        "select " + Self.cut(inProfile) + " from " + table
            + " as p where p.\(identifier: profiles.key) = any(\(accounts))"
            + " union all select " + Self.cut(Self.inMetadata) + " from auth.users as u where u.id = any(\(accounts))"
    }

    /// A text, however much its person wrote there, as two values, the second often null.
    ///
    /// A key, escaped too, is within either piece: the first has the path even of a URL with a very long query.
    static func ends(of text: Statement) -> Statement {
        "left(\(text), 4096), case when length(\(text)) > 4096 then right(\(text), 4096) end"
    }

    private var table: Statement { "\(identifier: profiles.table.schema).\(identifier: profiles.table.name)" }

    /// The texts of the profile `p`.
    private var inProfile: Statement {
        let texts = profiles.texts.map { "select p.\(identifier: $0)::text" as Statement }
        let documents = profiles.documents.map { Self.strings(in: "to_json(p.\(identifier: $0))::text") }
        return (texts + documents).dropFirst().reduce(
            (texts + documents).first ?? "select null::text"
        ) { $0 + " union all " + $1 }
    }

    /// The texts of the account `u`, less what GoTrue writes there of every identity: an id at a provider is no file.
    private static let inMetadata = leaves(
        of: """
            case jsonb_typeof(u.raw_user_meta_data)
                when 'object' then
                    u.raw_user_meta_data - array[
                        'iss', 'sub', 'provider_id', 'email', 'phone', 'name', 'full_name', 'user_name', 'preferred_username'
                    ]
                else u.raw_user_meta_data
            end
            """
    )

    private static func leaves(of document: Statement) -> Statement {
        "select v #>> '{}' from jsonb_path_query(" + document + ", 'strict $.** ? (@.type() == \"string\")') as v"
    }

    /// The texts in JSON as it was written, which may say things that no text of the server's holds: such a row must
    /// not fail a deletion.
    private static func strings(in json: Statement) -> Statement {
        """
        select case
                when strpos(m[1], '\\') = 0 then substr(m[1], 2, length(m[1]) - 2)
                else (\(WrittenJSON.readable("m[1]")))::json #>> '{}'
            end
        from regexp_matches(\(json), \(string), 'g') as m
        """
    }

    /// A text in JSON with its marks.
    private static let string = #""(?:[^"\\]|\\.)*""#

    private static func behind(_ last: UUID?, _ key: Statement) -> Statement {
        last.map { "where " + key + " > \($0)" } ?? ""
    }

    private static func cut(_ texts: Statement) -> Statement {
        """
        array(
            select e.piece
            from (\(texts)) as t (text)
            cross join lateral unnest(array[\(ends(of: "t.text"))]) as e (piece)
            where e.piece <> ''
        )
        """
    }
}
