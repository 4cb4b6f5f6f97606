/// Why migrations could not be applied.
package struct MigrationError: Error, Sendable {
    /// What stopped them, as a value to compare with.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Name: String {
            case lockHeld, lockTimeout, conflict, transactionPooler, unknownPooler, readOnly, refused, failed
        }

        private let name: Name

        package var description: String { name.rawValue }

        /// Another process migrates, and did not end in time.
        package static let lockHeld = Code(name: .lockHeld)
        /// A table stayed locked by others through all attempts.
        package static let lockTimeout = Code(name: .lockTimeout)
        /// The history and the files do not agree.
        package static let conflict = Code(name: .conflict)
        /// The connection goes through a pooler that gives each transaction another session.
        package static let transactionPooler = Code(name: .transactionPooler)
        /// The connection goes through a pooler that may do so: it could not be found out.
        package static let unknownPooler = Code(name: .unknownPooler)
        /// The server is a standby or takes no writes.
        package static let readOnly = Code(name: .readOnly)
        /// What the database holds forbids it; nothing was changed.
        package static let refused = Code(name: .refused)
        /// A migration's own SQL failed; the ones before it stay applied.
        package static let failed = Code(name: .failed)
    }

    package let code: Code
    /// What happened, in a sentence; safe to log.
    package let message: String
    /// What to do about it.
    package let hint: String?
    /// The error underneath, if there is one.
    let underlying: (any Error)?

    init(_ code: Code, _ message: String, hint: String? = nil, underlying: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
        self.underlying = underlying
    }
}

extension MigrationError: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { message }

    package var debugDescription: String {
        "MigrationError \(code): \(message)" + (underlying.map { "\n\(String(reflecting: $0))" } ?? "")
    }
}
