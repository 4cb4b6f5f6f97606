/// The five-character code by which the server identifies an error.
///
/// `catch SQLState.uniqueViolation` catches a ``PostgresError`` with that state. Source of the names: appendix A of
/// PostgreSQL's manual; only states that the code uses are listed.
package struct SQLState: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The first two characters, which identify the class of the error.
    package struct Class: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// 08: the connection.
        static let connectionException = Class(rawValue: "08")
        /// 23: a constraint is violated.
        package static let integrityConstraintViolation = Class(rawValue: "23")
        /// 53: out of memory, disk or connections.
        static let insufficientResources = Class(rawValue: "53")
    }

    /// The class of the error.
    package var `class`: Class { Class(rawValue: String(rawValue.prefix(2))) }

    package var description: String { rawValue }

    /// 0A000, feature not supported.
    static let featureNotSupported = SQLState(rawValue: "0A000")
    /// 23001, restrict violation: from PostgreSQL 18 on, what a key with RESTRICT refuses.
    package static let restrictViolation = SQLState(rawValue: "23001")
    /// 23502, not null violation.
    package static let notNullViolation = SQLState(rawValue: "23502")
    /// 23503, foreign key violation.
    package static let foreignKeyViolation = SQLState(rawValue: "23503")
    /// 23505, unique violation.
    package static let uniqueViolation = SQLState(rawValue: "23505")
    /// 23514, check violation: also of a row for which a partitioned table has no partition.
    package static let checkViolation = SQLState(rawValue: "23514")
    /// 25006, read only transaction.
    package static let readOnlyTransaction = SQLState(rawValue: "25006")
    /// 25P02, in failed transaction.
    static let inFailedTransaction = SQLState(rawValue: "25P02")
    /// 25P03: the server ended a transaction whose client was idle for too long.
    static let idleInTransactionSessionTimeout = SQLState(rawValue: "25P03")
    /// 26000, invalid statement name.
    static let invalidStatementName = SQLState(rawValue: "26000")
    /// 3D000: there is no such database.
    package static let invalidCatalogName = SQLState(rawValue: "3D000")
    /// 3F000, invalid schema name.
    package static let invalidSchemaName = SQLState(rawValue: "3F000")
    /// 40001, serialization failure.
    package static let serializationFailure = SQLState(rawValue: "40001")
    /// 40P01, deadlock detected.
    package static let deadlockDetected = SQLState(rawValue: "40P01")
    /// 42501, insufficient privilege.
    package static let insufficientPrivilege = SQLState(rawValue: "42501")
    /// 42703, undefined column.
    package static let undefinedColumn = SQLState(rawValue: "42703")
    /// 42883, undefined function.
    package static let undefinedFunction = SQLState(rawValue: "42883")
    /// 42P01, undefined table.
    package static let undefinedTable = SQLState(rawValue: "42P01")
    /// 42P10, invalid column reference.
    package static let invalidColumnReference = SQLState(rawValue: "42P10")
    /// 42704, undefined object.
    package static let undefinedObject = SQLState(rawValue: "42704")
    /// 55000: among others, a delete from a table that is published without a replica identity.
    package static let objectNotInPrerequisiteState = SQLState(rawValue: "55000")
    /// 55P03, lock not available.
    package static let lockNotAvailable = SQLState(rawValue: "55P03")
    /// 57014, query canceled.
    package static let queryCanceled = SQLState(rawValue: "57014")
    /// 57P01, admin shutdown.
    package static let adminShutdown = SQLState(rawValue: "57P01")
    /// 57P02, crash shutdown.
    static let crashShutdown = SQLState(rawValue: "57P02")
    /// 57P03, cannot connect now.
    static let cannotConnectNow = SQLState(rawValue: "57P03")
    /// 57P05: the server ended a session whose client was idle for too long.
    static let idleSessionTimeout = SQLState(rawValue: "57P05")
    /// XX000, internal error: among others, a query of a key that a rule has rewritten.
    package static let internalError = SQLState(rawValue: "XX000")

    /// Whether the same statement or transaction may succeed when it is retried.
    var isTransient: Bool {
        switch self {
        case .serializationFailure, .deadlockDetected, .lockNotAvailable, .adminShutdown, .crashShutdown,
            .cannotConnectNow, .idleInTransactionSessionTimeout, .idleSessionTimeout, .readOnlyTransaction:
            // Read-only is what clients get after a failover until they reach the new primary.
            true
        default: self.class == .connectionException || self.class == .insufficientResources
        }
    }
}

/// Lets `catch SQLState.uniqueViolation` match the error.
package func ~= (pattern: SQLState, error: any Error) -> Bool {
    (error as? PostgresError)?.sqlState == pattern
}
