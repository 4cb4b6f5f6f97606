#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
import LibPQ

/// The parameters for libpq to connect with: first fallbacks, which the connection string overrides, then values that
/// override the connection string.
struct StartParameters {
    /// Keywords and values; later ones win.
    private(set) var list: ConnectionKeywords = []

    private let allowsPlaintext: Bool
    private let readsService: Bool

    /// A peer that vanishes silently is detected within a minute, even by a listener that sends nothing.
    private static let fallbacks = [
        (keyword: "keepalives_idle", value: "30"), (keyword: "keepalives_interval", value: "10"),
        (keyword: "keepalives_count", value: "3"), (keyword: "tcp_user_timeout", value: "60000"),
    ]

    init(_ configuration: ConnectionConfiguration) throws(PostgresError) {
        allowsPlaintext = configuration.allowsPlaintext
        let conninfo = configuration.conninfo.flatMap { $0.isEmpty ? nil : $0 }
        var namesService = false
        if let conninfo, Conninfo.isConnectionString(conninfo) {
            do throws(ConninfoError) {
                namesService = try Conninfo(conninfo).parameters.contains { $0.keyword == "service" }
            } catch {
                throw PostgresError(.configuration, reason: error.message, connectionUsable: false)
            }
        }
        readsService = namesService || getenv("PGSERVICE") != nil
        // Parameters given to libpq override a service file.
        if !readsService { list += Self.fallbacks }
        if let conninfo { list.append(("dbname", conninfo)) }
        list.append(("fallback_application_name", configuration.applicationName))
        list.append(("client_encoding", "UTF8"))
        if let password = configuration.password() { list.append(("password", password)) }
    }

    /// The parameters to add, given the parameters in force, which are known only once a connection has been started.
    func additions(to inForce: [String: String]) -> ConnectionKeywords {
        var additions = readsService ? Self.fallbacks.filter { inForce[$0.keyword] == nil } : []
        if !allowsPlaintext, TLSRule.allowsPlaintextToOthers(inForce) { additions.append(("sslmode", "require")) }
        return additions
    }
}
