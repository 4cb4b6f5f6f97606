extension Statement {
    /// Whether a trigger or rule with this value of `tgenabled` or `ev_enabled` runs in our sessions: it is neither
    /// disabled nor enabled for replication only.
    package static func isEnabled(_ value: Statement) -> Statement { "\(value) in ('O', 'A')" }
}
