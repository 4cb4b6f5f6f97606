extension ClaimBounds {
    /// Where a claim begins, in microseconds since 1970.
    package struct Start: Sendable, Hashable {
        var bounds: [Key: Int64] = [:]
        /// The bound of what has none of its own.
        var floor: Int64 = 0

        /// Whether a claim that begins here looks at everything.
        var isEverything: Bool { bounds.isEmpty && floor == 0 }

        subscript(key: Key) -> Int64 { max(bounds[key] ?? 0, floor) }

        /// Where a claim of some lanes alone begins.
        func part(of lanes: Set<Lane.Name>) -> Start {
            var part = self
            part.bounds = bounds.filter { lanes.contains($0.key.lane) }
            return part
        }

        /// The claim came as far as there.
        mutating func passed(_ key: Key, at readyAt: Int64) {
            bounds[key] = max(bounds[key] ?? .min, readyAt)
        }

        /// The claim took these.
        mutating func passed(_ jobs: [ClaimedJob]) {
            for job in jobs {
                let lane = Lane.Name(queue: job.queue, kind: job.kind)
                passed(ClaimBounds.Key(lane: lane, priority: job.priority), at: job.readyAt)
            }
        }
    }
}

extension ClaimBounds.Start: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (ClaimBounds.Key, Int64)...) {
        for (key, readyAt) in elements { passed(key, at: readyAt) }
    }
}
