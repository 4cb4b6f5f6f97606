import Postgres

// States that only tests ask for.
extension SQLState {
    /// 22012, division by zero.
    static let divisionByZero = SQLState(rawValue: "22012")
    /// 28000, invalid authorization.
    static let invalidAuthorization = SQLState(rawValue: "28000")
    /// 3D000, invalid catalog name.
    static let invalidCatalogName = SQLState(rawValue: "3D000")
    /// 28P01, invalid password.
    static let invalidPassword = SQLState(rawValue: "28P01")
    /// 53300, too many connections.
    static let tooManyConnections = SQLState(rawValue: "53300")
}
