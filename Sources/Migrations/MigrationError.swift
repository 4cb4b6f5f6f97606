/// Why migrations could not be applied.
package struct MigrationError: Error, Sendable {
    /// The kind of error, as a comparable value.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Name: String {
            case lockHeld, lockTimeout, conflict, transactionPooler, unknownPooler, readOnly, refused, failed
        }

        private let name: Name

        package var description: String { name.rawValue }

        /// Another process is migrating and did not end in time.
        package static let lockHeld = Code(name: .lockHeld)
        /// Other sessions kept a table locked through all tries.
        package static let lockTimeout = Code(name: .lockTimeout)
        /// The history and the files disagree.
        package static let conflict = Code(name: .conflict)
        /// The connection goes through a transaction pooler, which gives each transaction another session.
        package static let transactionPooler = Code(name: .transactionPooler)
        /// The connection goes through a pooler whose mode could not be determined.
        package static let unknownPooler = Code(name: .unknownPooler)
        /// The server is a standby or read-only.
        package static let readOnly = Code(name: .readOnly)
        /// The contents of the database forbid the run; nothing was changed.
        package static let refused = Code(name: .refused)
        /// A migration's own SQL failed; the ones before it stay applied.
        package static let failed = Code(name: .failed)
    }

    package let code: Code
    /// A description in one sentence; safe to log.
    package let message: String
    /// How to fix it.
    package let hint: String?
    /// The underlying error, if any.
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
