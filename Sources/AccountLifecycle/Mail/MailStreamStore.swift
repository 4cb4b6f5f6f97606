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

    /// Adds a stream and has it checked at once; returns its id.
    ///
    /// Throws ``MailStreamError`` when the name is taken or malformed.
    package static func add(
        _ stream: MailStream,
        registrations: [MailStreamRecord.Registration]?,
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
            on conflict (name) do nothing
            returning id
            """,
            as: Int64.self
        )
        guard let id else { throw MailStreamError(code: .nameTaken, name: stream.name) }
        try MailCheckJob.enqueue(streamID: id, on: connection)
        return id
    }

    /// All streams, by name.
    package static func all(on connection: isolated Connection) throws -> [MailStreamRecord] {
        try read(where: "true", on: connection)
    }

    /// One stream by name; nil when there is none.
    package static func find(named name: String, on connection: isolated Connection) throws -> MailStreamRecord? {
        try read(where: "name = \(name)", on: connection).first
    }

    /// One stream by id; nil when there is none.
    package static func find(id: Int64, on connection: isolated Connection) throws -> MailStreamRecord? {
        try read(where: "id = \(id)", on: connection).first
    }

    /// Removes a stream with its history; false when there is none of that name.
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
        let rows = try connection.query(
            declared,
            as: (
                Int64, String, String, String, String, String?, [String], [String], String?, JSON<[StoredSelector]>,
                JSON<[MailStreamRecord.Registration]>?, Date, JSON<StreamStanding>, Date?, Date
            ).self
        )
        return try rows.map { row in
            do {
                return MailStreamRecord(
                    id: row.0,
                    stream: try stream(
                        row.1,
                        row.2,
                        row.3,
                        row.4,
                        row.5,
                        row.6,
                        row.7,
                        row.8,
                        row.9.value,
                        row.10?.value
                    ),
                    registrations: row.10?.value,
                    createdAt: row.11,
                    standing: row.12.value,
                    checkedAt: row.13,
                    nextCheckAt: row.14
                )
            } catch is DomainNameError {
                throw MailStreamError(code: .unreadable, name: row.1)
            }
        }
    }

    private static func stream(
        _ name: String,
        _ fromDomain: String,
        _ envelopeDomain: String,
        _ signingDomain: String,
        _ providerName: String?,
        _ includes: [String],
        _ addresses: [String],
        _ target: String?,
        _ selectors: [StoredSelector],
        _ registrations: [MailStreamRecord.Registration]?
    ) throws -> MailStream {
        MailStream(
            name: name,
            fromDomain: try DomainName(dotted: fromDomain),
            envelopeDomain: try DomainName(dotted: envelopeDomain),
            signingDomain: try DomainName(dotted: signingDomain),
            provider: MailStream.Provider(
                name: providerName,
                includes: try includes.map { try DomainName(dotted: $0) },
                returnPathTarget: try target.map { try DomainName(dotted: $0) },
                addresses: try addresses.map { text in
                    guard let network = IPNetwork(text) else { throw MailStreamError(code: .unreadable, name: name) }
                    return network
                }
            ),
            selectors: try selectors.map {
                MailStream.Selector($0.name, target: try $0.target.map { try DomainName(dotted: $0) }, key: $0.key)
            },
            registration: try registrations.map { .names(try $0.map { try DomainName(dotted: $0.name) }) } ?? .notStated
        )
    }

    private struct StoredSelector: Codable, Sendable {
        var name: String
        var target: String?
        var key: String?
    }
}
