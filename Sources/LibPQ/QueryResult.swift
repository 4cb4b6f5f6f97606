import CLibpq

/// The kind of a result.
package enum ResultStatus: Sendable, Equatable {
    /// A command without rows has completed.
    case commandOK
    /// All rows of a query, or the empty end of a row-by-row one.
    case tuplesOK
    /// One row of a query read row by row.
    case singleTuple
    /// The server sends COPY data.
    case copyOut
    /// The server expects COPY data.
    case copyIn
    /// COPY in both directions (replication).
    case copyBoth
    /// The statement was an empty string.
    case emptyQuery
    /// An error.
    case fatalError
    /// A notice, or a message that the library did not understand.
    case other
}

/// One result of a statement, cleared with the last reference; read where its connection is used, and therefore not
/// Sendable.
@safe
package final class QueryResult {
    private let handle: OpaquePointer

    init(_ handle: OpaquePointer) {
        unsafe self.handle = handle
    }

    deinit {
        unsafe PQclear(handle)
    }

    /// The kind of the result.
    package var status: ResultStatus {
        switch unsafe PQresultStatus(handle) {
        case PGRES_COMMAND_OK: .commandOK
        case PGRES_TUPLES_OK: .tuplesOK
        case PGRES_SINGLE_TUPLE: .singleTuple
        case PGRES_COPY_OUT: .copyOut
        case PGRES_COPY_IN: .copyIn
        case PGRES_COPY_BOTH: .copyBoth
        case PGRES_EMPTY_QUERY: .emptyQuery
        case PGRES_FATAL_ERROR, PGRES_BAD_RESPONSE: .fatalError
        default: .other
        }
    }

    /// The fields of the error.
    package var errorFields: [ErrorField: String] { unsafe ErrorField.all(of: handle) }

    /// The number of rows in this result.
    package var rowCount: Int { Int(unsafe PQntuples(handle)) }

    /// The number of columns of each row.
    package var columnCount: Int { Int(unsafe PQnfields(handle)) }

    /// The number of rows a command affected; zero if that does not apply.
    package var affectedRows: Int {
        unsafe Int(String(cString: PQcmdTuples(handle))) ?? 0
    }

    /// The command's tag, such as `UPDATE 3` or `ROLLBACK`.
    package var commandTag: String {
        unsafe String(cString: PQcmdStatus(handle))
    }

    /// The name of a column; nil if there is no such column.
    package func columnName(_ column: Int) -> String? {
        unsafe PQfname(handle, Int32(column)).map { unsafe String(cString: $0) }
    }

    /// The object id of a column's type.
    package func columnType(_ column: Int) -> UInt32 {
        unsafe PQftype(handle, Int32(column))
    }

    /// Whether a column came in binary format.
    package func isBinary(_ column: Int) -> Bool {
        unsafe PQfformat(handle, Int32(column)) == 1
    }

    /// The bytes of a value, nil for NULL.
    ///
    /// The caller must check row and column, and keep this object alive while reading the bytes.
    package func bytes(row: Int, column: Int) -> UnsafeRawBufferPointer? {
        let (row, column) = (Int32(row), Int32(column))
        let length = unsafe PQgetlength(handle, row, column)
        if length == 0, unsafe PQgetisnull(handle, row, column) == 1 { return nil }
        return unsafe UnsafeRawBufferPointer(start: PQgetvalue(handle, row, column), count: Int(length))
    }
}
