/// The five characters by which the server names an error.
///
/// `catch SQLState.uniqueViolation` catches a ``PostgresError`` of that state, `catch SQLState.Class.integrityConstraintViolation`
/// one of the whole class. Source of the names: appendix A of PostgreSQL's manual.
package struct SQLState: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The first two characters, which name the kind of error.
    package struct Class: RawRepresentable, Hashable, Sendable {
        package let rawValue: String

        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// 08: the connection.
        package static let connectionException = Class(rawValue: "08")
        /// 22: a value that does not fit.
        package static let dataException = Class(rawValue: "22")
        /// 23: keys, checks, NOT NULL.
        package static let integrityConstraintViolation = Class(rawValue: "23")
        /// 40: the transaction was rolled back and may be repeated.
        package static let transactionRollback = Class(rawValue: "40")
        /// 53: out of memory, disk or connections.
        package static let insufficientResources = Class(rawValue: "53")
        /// 57: an operator or the server stepped in.
        package static let operatorIntervention = Class(rawValue: "57")
        /// 58: the system under the server.
        package static let systemError = Class(rawValue: "58")
    }

    /// The kind of error.
    package var `class`: Class { Class(rawValue: String(rawValue.prefix(2))) }

    package var description: String { rawValue }

    /// 08006, connection failure.
    package static let connectionFailure = SQLState(rawValue: "08006")
    /// 0A000, feature not supported.
    package static let featureNotSupported = SQLState(rawValue: "0A000")
    /// 22003, numeric value out of range.
    package static let numericValueOutOfRange = SQLState(rawValue: "22003")
    /// 22012, division by zero.
    package static let divisionByZero = SQLState(rawValue: "22012")
    /// 22P02, invalid text representation.
    package static let invalidTextRepresentation = SQLState(rawValue: "22P02")
    /// 22P05, untranslatable character.
    package static let untranslatableCharacter = SQLState(rawValue: "22P05")
    /// 23502, not null violation.
    package static let notNullViolation = SQLState(rawValue: "23502")
    /// 23503, foreign key violation.
    package static let foreignKeyViolation = SQLState(rawValue: "23503")
    /// 23505, unique violation.
    package static let uniqueViolation = SQLState(rawValue: "23505")
    /// 23514, check violation.
    package static let checkViolation = SQLState(rawValue: "23514")
    /// 23P01, exclusion violation.
    package static let exclusionViolation = SQLState(rawValue: "23P01")
    /// 25001, active transaction.
    package static let activeTransaction = SQLState(rawValue: "25001")
    /// 25006, read only transaction.
    package static let readOnlyTransaction = SQLState(rawValue: "25006")
    /// 25P02, in failed transaction.
    package static let inFailedTransaction = SQLState(rawValue: "25P02")
    /// 25P03, idle in transaction timeout.
    package static let idleInTransactionTimeout = SQLState(rawValue: "25P03")
    /// 26000, invalid statement name.
    package static let invalidStatementName = SQLState(rawValue: "26000")
    /// 28P01, invalid password.
    package static let invalidPassword = SQLState(rawValue: "28P01")
    /// 28000, invalid authorization.
    package static let invalidAuthorization = SQLState(rawValue: "28000")
    /// 3D000, invalid catalog name.
    package static let invalidCatalogName = SQLState(rawValue: "3D000")
    /// 3F000, invalid schema name.
    package static let invalidSchemaName = SQLState(rawValue: "3F000")
    /// 40001, serialization failure.
    package static let serializationFailure = SQLState(rawValue: "40001")
    /// 40003, statement completion unknown.
    package static let statementCompletionUnknown = SQLState(rawValue: "40003")
    /// 40P01, deadlock detected.
    package static let deadlockDetected = SQLState(rawValue: "40P01")
    /// 42501, insufficient privilege.
    package static let insufficientPrivilege = SQLState(rawValue: "42501")
    /// 42601, syntax error.
    package static let syntaxError = SQLState(rawValue: "42601")
    /// 42703, undefined column.
    package static let undefinedColumn = SQLState(rawValue: "42703")
    /// 42883, undefined function.
    package static let undefinedFunction = SQLState(rawValue: "42883")
    /// 42P01, undefined table.
    package static let undefinedTable = SQLState(rawValue: "42P01")
    /// 42704, undefined object.
    package static let undefinedObject = SQLState(rawValue: "42704")
    /// 42P07, duplicate table.
    package static let duplicateTable = SQLState(rawValue: "42P07")
    /// 42710, duplicate object.
    package static let duplicateObject = SQLState(rawValue: "42710")
    /// 42P05, duplicate prepared statement.
    package static let duplicatePreparedStatement = SQLState(rawValue: "42P05")
    /// 53300, too many connections.
    package static let tooManyConnections = SQLState(rawValue: "53300")
    /// 55006, object in use.
    package static let objectInUse = SQLState(rawValue: "55006")
    /// 55P03, lock not available.
    package static let lockNotAvailable = SQLState(rawValue: "55P03")
    /// 57014, query canceled.
    package static let queryCanceled = SQLState(rawValue: "57014")
    /// 57P01, admin shutdown.
    package static let adminShutdown = SQLState(rawValue: "57P01")
    /// 57P02, crash shutdown.
    package static let crashShutdown = SQLState(rawValue: "57P02")
    /// 57P03, cannot connect now.
    package static let cannotConnectNow = SQLState(rawValue: "57P03")
    /// P0001, raise exception.
    package static let raiseException = SQLState(rawValue: "P0001")

    /// Whether the same statement, or the same transaction, may succeed when it is tried again.
    package var isTransient: Bool {
        switch self {
        case .serializationFailure, .deadlockDetected, .lockNotAvailable, .adminShutdown, .crashShutdown,
            .cannotConnectNow,
            .readOnlyTransaction:
            // Read-only: what a fail-over leaves clients with until they reach the new primary.
            true
        default: self.class == .connectionException || self.class == .insufficientResources
        }
    }
}

/// Lets `catch SQLState.uniqueViolation` match the error.
package func ~= (pattern: SQLState, error: any Error) -> Bool {
    (error as? PostgresError)?.sqlState == pattern
}

/// Lets `catch SQLState.Class.integrityConstraintViolation` match the error.
package func ~= (pattern: SQLState.Class, error: any Error) -> Bool {
    (error as? PostgresError)?.sqlState?.class == pattern
}
