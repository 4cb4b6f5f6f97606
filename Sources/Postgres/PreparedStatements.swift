/// Which statements this connection has prepared on the server: a cache that forgets the one not used for longest.
struct PreparedStatements: Sendable {
    /// A statement is another one when its parameters have other types.
    struct Key: Hashable, Sendable {
        var text: String
        var types: [UInt32]
    }

    /// What to do for a statement.
    enum Plan: Sendable, Equatable {
        /// It is prepared under this name.
        case use(name: String)
        /// Prepare it under this name, then use it.
        case prepare(name: String)
        /// The same, but drop that other name on the server first.
        case replace(name: String, dropped: String)
    }

    private struct Entry {
        var name: String
        var lastUse: UInt64
    }

    private var entries: [Key: Entry] = [:]
    private var clock: UInt64 = 0
    private var serial = 0
    let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// How many statements are prepared.
    var count: Int { entries.count }

    /// Looks a statement up and counts it as used.
    mutating func plan(for key: Key) -> Plan {
        clock += 1
        if let index = entries.index(forKey: key) {
            entries.values[index].lastUse = clock
            return .use(name: entries.values[index].name)
        }
        serial += 1
        let name = "accountctl_\(serial)"
        guard entries.count >= capacity, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else {
            return .prepare(name: name)
        }
        entries[oldest.key] = nil
        return .replace(name: name, dropped: oldest.value.name)
    }

    /// Records that the server has prepared a statement.
    mutating func prepared(_ key: Key, name: String) {
        entries[key] = Entry(name: name, lastUse: clock)
    }

    /// Forgets a statement that the server no longer knows or plans otherwise.
    mutating func forget(_ key: Key) {
        entries[key] = nil
    }

    /// Forgets all, after DISCARD or DEALLOCATE.
    mutating func forgetAll() {
        entries = [:]
    }
}
