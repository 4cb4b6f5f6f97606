import LibPQ

/// The hosts that a connection tries one after the other, by the parameters in force.
///
/// libpq given all of them goes on by itself when a host refuses. After a silent one only its blocking call does, and
/// that can neither be cancelled nor waited for together with anything else.
struct HostAttempts {
    /// What each attempt overrides; a single one without overrides when libpq may do it all.
    let list: [ConnectionKeywords]

    private let hostTimeout: Duration?

    init(_ inForce: [String: String]) {
        // A time for each host, as with libpq. Where none is set, or zero, the usual one counts, for all of them.
        hostTimeout = inForce["connect_timeout"].flatMap { Int($0) }.flatMap { $0 > 0 ? .seconds($0) : nil }
        let hosts = Self.parts(inForce["host"])
        let addresses = Self.parts(inForce["hostaddr"])
        let ports = Self.parts(inForce["port"])
        let count = max(hosts.count, addresses.count)
        // Left to libpq: the default for a place that the list leaves empty cannot be given as an override.
        guard count > 1, !hosts.contains(""), !addresses.contains("") else {
            list = [[]]
            return
        }
        var attempts = (0..<count).map { index in
            var overrides: ConnectionKeywords = []
            if index < hosts.count { overrides.append(("host", hosts[index])) }
            if index < addresses.count { overrides.append(("hostaddr", addresses[index])) }
            if ports.count > 1, index < ports.count {
                overrides.append(("port", ports[index].isEmpty ? "5432" : ports[index]))
            }
            return overrides
        }
        if inForce["load_balance_hosts"] == "random" { attempts.shuffle() }
        // libpq's two rounds: a standby anywhere comes before whatever there is.
        if inForce["target_session_attrs"] == "prefer-standby" {
            attempts = ["standby", "any"].flatMap { wanted in
                attempts.map { $0 + [(keyword: "target_session_attrs", value: wanted)] }
            }
        }
        list = attempts
    }

    /// How many attempts there are.
    var count: Int { list.count }

    /// How long all of them together may take: the connection's own limit comes before the usual one.
    func limit(_ usual: Duration) -> Duration { hostTimeout.map { $0 * count } ?? usual }

    /// The parts of a list as libpq tells them apart, to which a comma with an accent on it is a comma; none where
    /// nothing is set.
    static func parts(_ text: String?) -> [String] {
        guard let text, !text.isEmpty else { return [] }
        return text.unicodeScalars.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
    }
}
