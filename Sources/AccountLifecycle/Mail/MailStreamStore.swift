package import MailRelay
package import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The table of mail streams.
package enum MailStreamStore {
    /// Whether a text can be the name of a stream.
    package static func isName(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard (1...63).contains(bytes.count), bytes.allSatisfy(isNameByte) else { return false }
        return bytes[0] != UInt8(ascii: "_") && bytes[0] != UInt8(ascii: "-")
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: "-")
    }

    /// Adds a stream and enqueues its first check; returns its id.
    ///
    /// With `replacing`, an existing stream of that name is declared anew. It keeps its verdict and history, but not a
    /// result that only one check saw, since a check of the new declaration could otherwise confirm it. Throws
    /// ``MailStreamError`` if the name is malformed, or taken without `replacing`.
    package static func add(
        _ stream: MailStream,
        registrations: [MailStreamRecord.Registration]?,
        replacing: Bool = false,
        on connection: isolated Connection
    ) throws -> Int64 {
        guard isName(stream.name) else { throw MailStreamError(code: .badName, name: stream.name) }
        let selectors = stream.selectors.map {
            StoredSelector(name: $0.name, target: $0.target?.description, key: $0.key)
        }
        let id = try connection.first(
            """
            insert into accountctl.mail_streams (
                name, from_domain, envelope_domain, signing_domain, provider_name, provider_includes,
                provider_addresses, return_path_target, selectors, registrations
            )
            values (
                \(stream.name),
                \(stream.fromDomain.description),
                \(stream.envelopeDomain.description),
                \(stream.signingDomain.description),
                \(stream.provider.name),
                \(stream.provider.includes.map(\.description)),
                \(stream.provider.addresses.map(\.description)),
                \(stream.provider.returnPathTarget?.description),
                \(JSON(selectors)),
                \(registrations.map { JSON($0) })
            )
            on conflict (name) do update
            set from_domain = excluded.from_domain,
                envelope_domain = excluded.envelope_domain,
                signing_domain = excluded.signing_domain,
                provider_name = excluded.provider_name,
                provider_includes = excluded.provider_includes,
                provider_addresses = excluded.provider_addresses,
                return_path_target = excluded.return_path_target,
                selectors = excluded.selectors,
                registrations = excluded.registrations,
                standing = mail_streams.standing - 'pending',
                changed_at = now(),
                next_check_at = now()
            where \(replacing)
            returning id
            """,
            as: Int64.self
        )
        guard let id else { throw MailStreamError(code: .nameTaken, name: stream.name) }
        try MailCheckJob.enqueue(streamID: id, on: connection)
        return id
    }

    /// All streams, sorted by name.
    package static func all(on connection: isolated Connection) throws -> [MailStreamRecord] {
        try read(where: "true", on: connection)
    }

    /// The stream with a name; nil if there is none.
    package static func find(named name: String, on connection: isolated Connection) throws -> MailStreamRecord? {
        try read(where: "name = \(name)", on: connection).first
    }

    /// The stream with an id; nil if there is none.
    static func find(id: Int64, on connection: isolated Connection) throws -> MailStreamRecord? {
        try read(where: "id = \(id)", on: connection).first
    }

    /// Removes a stream with its history; false if there is none with that name.
    package static func remove(named name: String, on connection: isolated Connection) throws -> Bool {
        try connection.execute("delete from accountctl.mail_streams where name = \(name)") == 1
    }

    private static func read(where condition: Statement, on connection: isolated Connection) throws
        -> [MailStreamRecord]
    {
        let declared: Statement = """
            select
                id, name, from_domain, envelope_domain, signing_domain, provider_name, provider_includes,
                provider_addresses, return_path_target, selectors, registrations, created_at, standing, checked_at,
                next_check_at
            from accountctl.mail_streams
            where \(condition)
            order by name
            """
        return try connection.query(declared, into: Row.init).map { row in
            do {
                return MailStreamRecord(
                    id: row.id,
                    stream: try row.stream,
                    registrations: row.registrations?.value,
                    createdAt: row.createdAt,
                    standing: row.standing.value,
                    checkedAt: row.checkedAt,
                    nextCheckAt: row.nextCheckAt
                )
            } catch is DomainNameError {
                throw MailStreamError(code: .unreadable, name: row.name)
            }
        }
    }

    private struct Row {
        let id: Int64
        let name: String
        let fromDomain: String
        let envelopeDomain: String
        let signingDomain: String
        let providerName: String?
        let includes: [String]
        let addresses: [String]
        let returnPathTarget: String?
        let selectors: JSON<[StoredSelector]>
        let registrations: JSON<[MailStreamRecord.Registration]>?
        let createdAt: Date
        let standing: JSON<StreamStanding>
        let checkedAt: Date?
        let nextCheckAt: Date

        var stream: MailStream {
            get throws {
                MailStream(
                    name: name,
                    fromDomain: try DomainName(dotted: fromDomain),
                    envelopeDomain: try DomainName(dotted: envelopeDomain),
                    signingDomain: try DomainName(dotted: signingDomain),
                    provider: MailStream.Provider(
                        name: providerName,
                        includes: try includes.map { try DomainName(dotted: $0) },
                        returnPathTarget: try returnPathTarget.map { try DomainName(dotted: $0) },
                        addresses: try addresses.map { text in
                            guard let network = IPNetwork(text) else {
                                throw MailStreamError(code: .unreadable, name: name)
                            }
                            return network
                        }
                    ),
                    selectors: try selectors.value.map {
                        MailStream.Selector(
                            $0.name,
                            target: try $0.target.map { try DomainName(dotted: $0) },
                            key: $0.key
                        )
                    },
                    registration: try registrations.map {
                        .names(try $0.value.map { try DomainName(dotted: $0.name) })
                    } ?? .notStated
                )
            }
        }
    }

    private struct StoredSelector: Codable, Sendable {
        var name: String
        var target: String?
        var key: String?
    }
}
