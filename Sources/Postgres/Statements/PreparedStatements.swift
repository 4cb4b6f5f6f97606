/// The statements that this connection has prepared on the server: an LRU cache.
struct PreparedStatements: Sendable {
    /// A statement's key; with other parameter types it is another statement.
    struct Key: Hashable, Sendable {
        var text: String
        var types: [UInt32]
    }

    /// What to do for a statement.
    enum Plan: Sendable, Equatable {
        /// Not worth preparing yet.
        case runUnprepared
        /// Use the statement prepared under this name.
        case use(name: String)
        /// Prepare it under this name, then use it.
        case prepare(name: String)
    }

    private struct Entry {
        var name: String?
        var uses: Int
        var lastUse: UInt64
    }

    /// How many uses before a statement is prepared, because preparing costs a round trip of its own.
    private let threshold = 3
    private let capacity: Int
    private var entries: [Key: Entry] = [:]
    private var clock: UInt64 = 0
    private var serial = 0
    /// Makes the names different from those of other connections, which a pooler may leave on its server processes.
    private let mark = String(UInt32.random(in: 0 ... .max), radix: 36)

    /// Names that the server still knows but that will not be used again.
    private(set) var dropped: [String] = []

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// Looks a statement up and counts it as used.
    mutating func plan(for key: Key) -> Plan {
        clock += 1
        guard let index = entries.index(forKey: key) else {
            if entries.count >= capacity { evict() }
            entries[key] = Entry(uses: 1, lastUse: clock)
            return .runUnprepared
        }
        entries.values[index].lastUse = clock
        if let name = entries.values[index].name { return .use(name: name) }
        entries.values[index].uses += 1
        guard entries.values[index].uses >= threshold else { return .runUnprepared }
        serial += 1
        return .prepare(name: "accountctl_\(mark)_\(serial)")
    }

    /// Records that the server has prepared a statement.
    mutating func prepared(_ key: Key, name: String) {
        entries[key]?.name = name
    }

    /// Forgets a statement that the server no longer knows, or whose plan has become invalid.
    mutating func forget(_ key: Key) {
        if let name = entries.removeValue(forKey: key)?.name { dropped.append(name) }
    }

    /// Forgets all statements after the server has: DISCARD, DEALLOCATE.
    mutating func forgetAll() {
        entries = [:]
        dropped = []
    }

    /// Takes the names to drop on the server.
    mutating func takeDropped() -> [String] {
        defer { dropped = [] }
        return dropped
    }

    private mutating func evict() {
        guard let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return }
        forget(oldest.key)
    }
}
