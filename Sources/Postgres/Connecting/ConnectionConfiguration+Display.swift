import LibPQ

extension ConnectionConfiguration: CustomStringConvertible {
    /// The connection string's keywords and values for people, every password left out.
    ///
    /// What the environment, the service file and the password file add is not in it.
    package var description: String {
        guard let conninfo, !conninfo.isEmpty else { return "(PG* variables)" }
        guard Conninfo.isConnectionString(conninfo) else { return "dbname=\(Self.quoted(conninfo))" }
        guard let parsed = try? Conninfo(conninfo) else { return "(malformed connection string)" }
        return parsed.parameters.map { "\($0.keyword)=\(Self.quoted($0.value))" }.joined(separator: " ")
    }

    /// What the connection string names, every password left out; empty for one that libpq cannot read.
    package var parameters: [String: String] {
        guard let conninfo, Conninfo.isConnectionString(conninfo), let parsed = try? Conninfo(conninfo) else {
            return [:]
        }
        return Dictionary(parsed.parameters.map { ($0.keyword, $0.value) }) { $1 }
    }

    /// Whether what the connection string names, or else the environment's host, is another machine.
    ///
    /// What a service names is in a file that is not read here; it counts as another machine.
    package func leadsElsewhere(environmentHost: String?, environmentService: String?) -> Bool {
        let named = parameters
        let service = named["service"] ?? environmentService
        if named["host"] == nil, named["hostaddr"] == nil, service != nil { return true }
        return TLSRule.leadsElsewhere(named.merging(environmentHost.map { ["host": $0] } ?? [:]) { own, _ in own })
    }

    /// Whether the connection string holds a password; one that libpq cannot read may.
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
