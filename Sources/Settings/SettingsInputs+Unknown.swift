import Terminal

extension SettingsInputs {
    /// Variables with the product's prefix that are not settings.
    private static let otherVariables: Set<String> = [
        "ACCOUNTCTL_CONFIG", "ACCOUNTCTL_ENVIRONMENT", "ACCOUNTCTL_POSTGRES_BIN", "ACCOUNTCTL_PAGER",
        "ACCOUNTCTL_OPERATOR",
    ]

    /// A problem for each key that is set but never read.
    func unknownKeys(known: Set<String>) -> [SettingsProblem] {
        var problems: [SettingsProblem] = []
        for (key, value) in values where !known.contains(key) {
            problems.append(problem(key, value, NearestName.of(key, among: known.union(["environment"]))))
        }
        let knownVariables = variables.isEmpty ? [] : Set(known.map { Self.variable(of: $0) })
        for (name, value) in variables
        where !knownVariables.contains(name) && !Self.otherVariables.contains(name)
            && !name.hasPrefix("ACCOUNTCTL_TEST_")
        {
            if Self.isServiceLink(name, value.text) {
                problems.append(SettingsProblem(key: name, source: value.source, message: Self.serviceLink))
                continue
            }
            let near = NearestName.of(name, among: knownVariables.union(Self.otherVariables))
            problems.append(problem(name, value, near))
        }
        return problems
    }

    private static let serviceLink =
        "Kubernetes or Docker sets it for a service whose name begins with accountctl; for a pod, set "
        + "enableServiceLinks: false"

    /// Whether a variable describes a network service, as Kubernetes sets them: `NAME_SERVICE_HOST`,
    /// `NAME_PORT=tcp://…`, `NAME_PORT_80_TCP_ADDR`.
    private static func isServiceLink(_ name: String, _ text: String) -> Bool {
        // Starts at the `_` of the prefix, since the service may be named exactly like the product.
        let rest = name.dropFirst(prefix.count - 1)
        if rest.hasSuffix("_SERVICE_HOST") || rest.contains("_SERVICE_PORT") { return true }
        if text.hasPrefix("tcp://") || text.hasPrefix("udp://") || text.hasPrefix("sctp://") {
            return rest.contains("_PORT")
        }
        return rest.contains("_PORT_") && ["_ADDR", "_PORT", "_PROTO"].contains { rest.hasSuffix($0) }
    }

    private func problem(_ key: String, _ value: RawSetting, _ near: String?) -> SettingsProblem {
        let hint = near.map { "did you mean \($0)?" } ?? "accountctl config show lists the keys"
        return SettingsProblem(key: key, source: value.source, message: "there is no such setting; \(hint)")
    }
}
