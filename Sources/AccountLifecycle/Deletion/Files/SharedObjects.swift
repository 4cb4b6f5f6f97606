import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An object without an owner that the profile of an account names.
struct NamedObject: Sendable, Hashable {
    let account: UUID
    let object: StoredObject
    /// Whether it is older than the account, which then cannot have uploaded it.
    var isOlder = false
}

/// Finds out which of some objects another account names, too, in a text of ``AvatarTexts`` and by the rule of
/// ``AvatarNames``.
///
/// However many accounts and objects there are, texts are read once: the server sends those whose last characters are
/// those of one of the keys, and those that may mean something other than they spell. What they name is decided here.
struct SharedObjects {
    private let objects: [NamedObject]
    private let accounts: Set<UUID>

    /// How many texts are examined together.
    private static let page = 500
    /// How many characters at the end of a key the server compares: the most of these that the key has, or all of a
    /// shorter key.
    private static let lengths = [64, 48, 32]
    /// Text that may have another spelling: an escape, something that a browser changes in a path, a blank at the end
    /// or its encoding.
    private static let isOdd = #"%|\\|[^:]//|/\.|[\x01-\x1f]|[ +]([?#&]|$)"#

    init(_ objects: [NamedObject]) {
        self.objects = objects
        accounts = Set(objects.map(\.account))
    }

    /// The objects that another account names.
    ///
    /// - Throws: `PostgresError`; `deadlineExceeded` if it takes longer than `limit`.
    func find(
        in profiles: DeletionCatalog.Profiles,
        within limit: Duration = .seconds(1800),
        on connection: isolated Connection
    ) throws -> Set<NamedObject> {
        var shared: Set<NamedObject> = []
        func tell(_ texts: AvatarNames.Texts, of account: UUID? = nil) {
            let names = AvatarNames(texts)
            shared.formUnion(objects.lazy.filter { $0.account != account && names.contains($0.object.key) })
        }
        var texts = AvatarNames.Texts()
        var gathered = 0
        try connection.stream(
            statement(for: profiles),
            as: (UUID?, String, String?).self,
            deadline: limit
        ) { id, start, end in
            if let id, accounts.contains(id) {
                var own = AvatarNames.Texts()
                for text in [start, end].compactMap(\.self) { own.insert(text) }
                tell(own, of: id)
                return
            }
            for text in [start, end].compactMap(\.self) { texts.insert(text) }
            gathered += 1
            guard gathered == Self.page else { return }
            tell(texts)
            texts = AvatarNames.Texts()
            gathered = 0
        }
        tell(texts)
        return shared
    }

    /// Selects texts that may name one of the objects, some of them several times.
    func statement(for profiles: DeletionCatalog.Profiles) -> Statement {
        // Made distinct by the server: Swift takes some texts for equal that differ in their bytes.
        let endings = objects.map { Self.ending(of: $0.object.key) }
        // One comparison for each length, each by a hash table.
        let mayName = Set(endings.map(\.unicodeScalars.count)).sorted().reduce("p.piece is null" as Statement) {
            $0 + " or right(p.piece, \(Int32($1))) in (select ending from sought)"
        }
        return """
            with sought as materialized (
                select distinct ending
                from unnest(\(endings)) as e (ending)
            )
            select p.id, \(AvatarTexts.ends(of: "text"))
            from (
                select
                    w.id,
                    w.text,
                    unnest(
                        case
                            when octet_length(w.text) > 4096 or w.text collate "C" ~ \(Self.isOdd)
                                then array[null]
                            else string_to_array(translate(w.text, '#&+', '?? '), '?')
                        end
                    ) as piece
                from (\(AvatarTexts(profiles: profiles).ofProfiles) union all \(AvatarTexts.ofMetadata)) as w
                where w.text <> ''
            ) as p
            where \(mayName)
            """
    }

    /// The last characters of a key, after any `?`, `#` or `&`, which may end a text, with blanks for plus signs.
    private static func ending(of key: String) -> String {
        let scalars = key.unicodeScalars.reversed().prefix { !"?#&".unicodeScalars.contains($0) }
        let length = lengths.first { $0 <= scalars.count } ?? scalars.count
        return String(String.UnicodeScalarView(scalars.prefix(length).reversed().map { $0 == "+" ? " " : $0 }))
    }
}
