import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An operator's words name the account that they are about: the operators' log would hold personal data for good.
package struct NamedSubject: Error, Sendable, Hashable, CustomStringConvertible {
    /// Which of the operator's texts it is.
    package enum Words: String, Sendable {
        case reason
        case ticket
        /// The operator's name.
        case name
    }

    package let words: Words
    /// What of the account they hold.
    package let kind: Identifier.Kind

    package var description: String { "the \(words) holds the account's own \(kind.rawValue)" }

    /// Refuses words with an identifier of one of the accounts in them.
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
        // No identifier but an address is shorter; most tickets and names are, and cost no query.
        guard texts.contains(where: { $1.utf8.count >= 8 || $1.contains("@") }) else { return }
        let others = try IdentifierCollection.read(of: users, on: connection)
        let matcher = IdentifierMatcher(users.map(Identifier.init(userID:)) + others.values.joined())
        for (words, text) in texts {
            guard let match = matcher.matches(in: text).first else { continue }
            throw NamedSubject(words: words, kind: matcher.identifiers[match.identifier].kind)
        }
    }
}
