import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An operator's text names the account that it is about, so the operators' log would hold personal data for good.
package struct NamedSubject: Error, Sendable, Hashable, CustomStringConvertible {
    /// Which of the operator's texts it is.
    package enum Words: String, Sendable {
        case reason
        case ticket
        /// The operator's name.
        case name
    }

    package let words: Words
    /// Which identifier of the account the text contains.
    package let kind: Identifier.Kind

    package var description: String { "the \(words) contains the account's own \(kind.rawValue)" }

    /// Refuses texts that contain an identifier of one of the accounts.
    ///
    /// - Throws: `NamedSubject`; `PostgresError`.
    static func refuse(
        _ users: [UUID],
        reason: String?,
        by actor: Operator,
        on connection: isolated Connection
    ) throws {
        let texts = [(Words.reason, reason), (.ticket, actor.ticket), (.name, actor.name)]
            .compactMap { words, text in text.map { (words, $0) } }
        // Every identifier except an address has at least eight bytes; most tickets and names have fewer, and so cost
        // no query.
        guard texts.contains(where: { $1.utf8.count >= 8 || $1.contains("@") }) else { return }
        let others = try IdentifierCollection.read(of: users, on: connection)
        let matcher = IdentifierMatcher(users.map(Identifier.init(userID:)) + others.values.joined())
        for (words, text) in texts {
            guard let match = matcher.matches(in: text).first else { continue }
            throw NamedSubject(words: words, kind: matcher.identifiers[match.identifier].kind)
        }
    }
}
