import LibPQ

/// The hosts that a connection tries in turn, given the parameters in force.
///
/// Given all hosts, libpq moves on by itself if a host refuses. After a silent host only its blocking call does, and
/// that can neither be cancelled nor awaited together with anything else.
struct HostAttempts {
    /// The overrides of each attempt; a single attempt without overrides if libpq may do it all.
    let list: [ConnectionKeywords]

    private let hostTimeout: Duration?

    init(_ inForce: [String: String]) {
        // A time limit for each host, as with libpq. If none is set, or zero, the default limit applies to all hosts
        // together.
        hostTimeout = inForce["connect_timeout"].flatMap { Int($0) }.flatMap { $0 > 0 ? .seconds($0) : nil }
        let hosts = Self.parts(inForce["host"])
        let addresses = Self.parts(inForce["hostaddr"])
        let ports = Self.parts(inForce["port"])
        let count = max(hosts.count, addresses.count)
        // Left to libpq: the default for an empty list entry cannot be given as an override.
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
        // libpq's two rounds: first a standby on any host, then any server.
        if inForce["target_session_attrs"] == "prefer-standby" {
            attempts = ["standby", "any"].flatMap { wanted in
                attempts.map { $0 + [(keyword: "target_session_attrs", value: wanted)] }
            }
        }
        list = attempts
    }

    /// How many attempts there are.
    var count: Int { list.count }

    /// How long all attempts together may take; the connection's own limit takes precedence over the default.
    func limit(_ usual: Duration) -> Duration { hostTimeout.map { $0 * count } ?? usual }

    /// The parts of a list as libpq splits it, for which a comma with a combining accent is still a comma; empty if
    /// nothing is set.
    static func parts(_ text: String?) -> [String] {
        guard let text, !text.isEmpty else { return [] }
        return text.unicodeScalars.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
    }
}
