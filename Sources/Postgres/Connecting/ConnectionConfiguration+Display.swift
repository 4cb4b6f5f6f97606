import LibPQ

extension ConnectionConfiguration: CustomStringConvertible {
    /// The connection string's keywords and values for display, without passwords.
    ///
    /// Values from the environment, the service file and the password file are not included.
    package var description: String {
        guard let conninfo, !conninfo.isEmpty else { return "(PG* variables)" }
        guard Conninfo.isConnectionString(conninfo) else { return "dbname=\(Self.quoted(conninfo))" }
        guard let parsed = try? Conninfo(conninfo) else { return "(malformed connection string)" }
        return parsed.parameters.map { "\($0.keyword)=\(Self.quoted($0.value))" }.joined(separator: " ")
    }

    /// The parameters of the connection string, without passwords; empty if libpq cannot parse it.
    package var parameters: [String: String] {
        guard let conninfo, Conninfo.isConnectionString(conninfo), let parsed = try? Conninfo(conninfo) else {
            return [:]
        }
        return Dictionary(parsed.parameters.map { ($0.keyword, $0.value) }) { $1 }
    }

    /// Whether the host of the connection string, or else of the environment, is another machine.
    ///
    /// The file of a service is not read here, so a service counts as another machine.
    package func leadsElsewhere(environmentHost: String?, environmentService: String?) -> Bool {
        let named = parameters
        let service = named["service"] ?? environmentService
        if named["host"] == nil, named["hostaddr"] == nil, service != nil { return true }
        return TLSRule.leadsElsewhere(named.merging(environmentHost.map { ["host": $0] } ?? [:]) { own, _ in own })
    }

    /// Whether the connection string contains a password; true also if libpq cannot parse it.
    package var holdsSecret: Bool {
        guard let conninfo, Conninfo.isConnectionString(conninfo) else { return false }
        return (try? Conninfo(conninfo).holdsSecret) ?? true
    }

    private static func quoted(_ value: String) -> String {
        guard value.isEmpty || value.contains(where: { " '\\\n\t".contains($0) }) else { return value }
        let escaped = value.reduce(into: "") { $0 += $1 == "'" || $1 == "\\" ? "\\\($1)" : String($1) }
        return "'\(escaped)'"
    }
}
