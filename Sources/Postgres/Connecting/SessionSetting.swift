/// What a session's server is to be set to.
struct SessionSetting: Sendable, Hashable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Statements that make settings until the session, or a transaction that fails, ends; until any transaction ends
    /// if `inTransaction`.
    ///
    /// Not by ``calls(_:)``: a query would fix what a transaction of a higher level sees.
    static func statements(_ settings: [SessionSetting], inTransaction: Bool = false) -> String {
        settings
            .map { "set \(inTransaction ? "local " : "")\(quoteIdentifier($0.name)) to \(quoteLiteral($0.value))" }
            .joined(separator: "; ")
    }

    /// Calls that make settings for the rest of the session, one column each.
    static func calls(_ settings: [SessionSetting]) -> String {
        settings
            .map { "set_config(\(quoteLiteral($0.name)), \(quoteLiteral($0.value)), false)" }
            .joined(separator: ", ")
    }
}
