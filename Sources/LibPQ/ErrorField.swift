import CLibpq

/// A field of an error or notice that somebody reads, as sent by the protocol.
package enum ErrorField: Sendable, CaseIterable {
    case severity
    case sqlState
    case message
    case detail
    case hint
    case statementPosition
    case internalQuery
    case context
    case schema
    case table
    case column
    case dataType
    case constraint

    fileprivate var code: Int32 {
        let code =
            switch self {
            case .severity: CLIBPQ_DIAG_SEVERITY
            case .sqlState: CLIBPQ_DIAG_SQLSTATE
            case .message: CLIBPQ_DIAG_MESSAGE_PRIMARY
            case .detail: CLIBPQ_DIAG_MESSAGE_DETAIL
            case .hint: CLIBPQ_DIAG_MESSAGE_HINT
            case .statementPosition: CLIBPQ_DIAG_STATEMENT_POSITION
            case .internalQuery: CLIBPQ_DIAG_INTERNAL_QUERY
            case .context: CLIBPQ_DIAG_CONTEXT
            case .schema: CLIBPQ_DIAG_SCHEMA_NAME
            case .table: CLIBPQ_DIAG_TABLE_NAME
            case .column: CLIBPQ_DIAG_COLUMN_NAME
            case .dataType: CLIBPQ_DIAG_DATATYPE_NAME
            case .constraint: CLIBPQ_DIAG_CONSTRAINT_NAME
            }
        return Int32(bitPattern: code.rawValue)
    }

    /// Copies all these fields of a result at once.
    static func all(of result: OpaquePointer) -> [ErrorField: String] {
        var fields: [ErrorField: String] = [:]
        for field in allCases {
            guard let text = unsafe PQresultErrorField(result, field.code) else { continue }
            fields[field] = unsafe String(cString: text)
        }
        if fields[.message] == nil, let text = unsafe PQresultErrorMessage(result) {
            // Created by libpq itself, which sets no fields: a lost connection, no memory.
            let whole = unsafe String(cString: text).trimmedEnd()
            if !whole.isEmpty { fields[.message] = whole }
        }
        return fields
    }
}
