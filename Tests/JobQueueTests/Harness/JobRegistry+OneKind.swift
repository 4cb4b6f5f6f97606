import JobQueue

extension JobRegistry {
    /// A registry of one kind.
    init<Arguments>(_ kind: JobKind<Arguments>, handler: @escaping Handler<Arguments>) throws {
        self.init()
        try register(kind, handler: handler)
    }
}

extension JobHarness {
    /// A registry of one kind, each of whose jobs records that it had its effect.
    func recording<Arguments>(_ kind: JobKind<Arguments>) throws -> JobRegistry {
        try JobRegistry(kind) { _, context in
            try await effect(context)
            return .completed()
        }
    }
}
