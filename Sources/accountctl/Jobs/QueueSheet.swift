import Terminal

/// The result of an act on a queue or on a kind of jobs.
enum QueueSheet {
    static let fields = ["queue", "kind", ActOutcome.field]

    static func of(queue: String? = nil, kind: String? = nil, _ outcome: ActOutcome) -> Sheet {
        Sheet(facts: [
            .init("queue", "Queue", .text(queue)), .init("kind", "Kind", .text(kind)), outcome.fact,
        ])
    }
}
