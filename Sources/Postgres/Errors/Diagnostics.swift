import LibPQ

/// The fields of an error or notice, as the server sent them.
///
/// `message`, `detail`, `hint`, `context` and `internalQuery` may quote values of rows: never log them above debug
/// level.
package struct Diagnostics: Sendable, Equatable {
    /// ERROR, FATAL, PANIC, WARNING, NOTICE, DEBUG, INFO or LOG, never translated.
    var severity: String?
    /// The five characters of the SQLSTATE; nil if the client library itself created the message.
    var sqlState: String?
    /// The primary message.
    package var message: String?
    /// More detail; often quotes the values of a key.
    var detail: String?
    /// What might help.
    package var hint: String?
    /// The position in the statement, in characters from 1.
    var statementPosition: Int?
    /// The statement of a function that failed.
    var internalQuery: String?
    /// The call stack of functions and statements.
    package var context: String?
    /// The schema concerned.
    package var schema: String?
    /// The table concerned.
    package var table: String?
    /// The column concerned.
    package var column: String?
    /// The data type concerned: a domain that refuses a value.
    package var dataType: String?
    /// The constraint concerned; unique indexes count as constraints.
    package var constraint: String?

    init(_ fields: [ErrorField: String]) {
        severity = fields[.severity]
        sqlState = fields[.sqlState]
        // Further lines of the client library's own messages are hints, indented with tabs.
        let isFromServer = fields[.sqlState] != nil
        message = isFromServer ? fields[.message] : fields[.message]?.split(separator: "\n").first.map(String.init)
        detail = fields[.detail]
        hint = fields[.hint]
        statementPosition = fields[.statementPosition].flatMap { Int($0) }
        internalQuery = fields[.internalQuery]
        context = fields[.context]
        schema = fields[.schema]
        table = fields[.table]
        column = fields[.column]
        dataType = fields[.dataType]
        constraint = fields[.constraint]
    }
}
