/// A server setting for a session.
struct SessionSetting: Sendable, Hashable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// SET statements, in effect until the session ends or their transaction is rolled back; if `inTransaction`, until
    /// the transaction ends.
    ///
    /// Not ``calls(_:)``: a query would fix the snapshot of a transaction with a higher isolation level.
    static func statements(_ settings: [SessionSetting], inTransaction: Bool = false) -> String {
        settings
            .map { "set \(inTransaction ? "local " : "")\(quoteIdentifier($0.name)) to \(quoteLiteral($0.value))" }
            .joined(separator: "; ")
    }

    /// Calls of `set_config` for the rest of the session, one column each.
    static func calls(_ settings: [SessionSetting]) -> String {
        settings
            .map { "set_config(\(quoteLiteral($0.name)), \(quoteLiteral($0.value)), false)" }
            .joined(separator: ", ")
    }
}
