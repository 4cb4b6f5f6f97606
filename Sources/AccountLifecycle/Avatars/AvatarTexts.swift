import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The texts of an account that may name objects of the bucket of avatars.
///
/// They are all texts of its profile, in whatever column and however deep in JSON, and the metadata that people and
/// providers write. An app may have columns for further pictures, and nothing tells which; a text of any other kind
/// names no object.
struct AvatarTexts {
    let profiles: DeletionCatalog.Profiles

    /// A query of the profiles' texts, as `id` and `text`.
    var ofProfiles: Statement {
        "select p.\(identifier: profiles.key) as id, t.text from " + table + " as p cross join lateral (" + inProfile
            + ") as t (text)"
    }

    /// A query of the texts in the accounts' metadata, likewise.
    static let ofMetadata: Statement =
        "select u.id, t.text from auth.users as u cross join lateral (" + inMetadata + ") as t (text)"

    /// A page of profiles by account id, each with its texts; ``metadataPage(after:limit:)`` is the other half.
    func profilePage(after last: UUID?, limit: Int) -> Statement {
        let key: Statement = "p.\(identifier: profiles.key)"
        return "select " + key + ", " + Self.cut(inProfile) + " from " + table + " as p " + Self.behind(last, key)
            + " order by 1 limit \(limit)"
    }

    /// A page of accounts by id, each with the texts in its metadata.
    static func metadataPage(after last: UUID?, limit: Int) -> Statement {
        "select u.id, " + cut(inMetadata) + " from auth.users as u " + behind(last, "u.id")
            + " order by 1 limit \(limit)"
    }

    /// A query of the texts of some accounts.
    func texts(of accounts: [UUID]) -> Statement {
        "select " + Self.cut(inProfile) + " from " + table
            + " as p where p.\(identifier: profiles.key) = any(\(accounts))"
            + " union all select " + Self.cut(Self.inMetadata) + " from auth.users as u where u.id = any(\(accounts))"
    }

    /// The two ends of a text of any length, as two values; the second is often null.
    ///
    /// A key, even escaped, fits within either piece: the first contains the path even of a URL with a very long query.
    static func ends(of text: Statement) -> Statement {
        "left(\(text), 4096), case when length(\(text)) > 4096 then right(\(text), 4096) end"
    }

    private var table: Statement { profiles.table.quoted }

    /// A query of the texts of the profile `p`.
    private var inProfile: Statement {
        let texts = profiles.texts.map { "select p.\(identifier: $0)::text" as Statement }
        let documents = profiles.documents.map { Self.strings(in: "to_json(p.\(identifier: $0))::text") }
        return (texts + documents).dropFirst().reduce(
            (texts + documents).first ?? "select null::text"
        ) { $0 + " union all " + $1 }
    }

    /// The texts of the account `u`, except what GoTrue writes there for every identity: an id at a provider is no
    /// file.
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

    /// A query of the strings in JSON as it was written.
    ///
    /// Such JSON may hold characters that the server's text cannot, and such a row must not make a deletion fail.
    private static func strings(in json: Statement) -> Statement {
        """
        select case
                when strpos(m[1], '\\') = 0 then substr(m[1], 2, length(m[1]) - 2)
                else (\(WrittenJSON.readable("m[1]")))::json #>> '{}'
            end
        from regexp_matches(\(json), \(string), 'g') as m
        """
    }

    /// A JSON string with its quotes, as a regular expression.
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
