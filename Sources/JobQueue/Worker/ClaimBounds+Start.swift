extension ClaimBounds {
    /// Where a claim begins, in microseconds since 1970.
    package struct Start: Sendable, Hashable {
        var bounds: [Key: Int64] = [:]
        /// The bound of lanes and priorities without one of their own.
        var floor: Int64 = 0

        /// Whether a claim that begins here searches everything.
        var isEverything: Bool { bounds.isEmpty && floor == 0 }

        subscript(key: Key) -> Int64 { max(bounds[key] ?? 0, floor) }

        /// Where a claim of only these lanes begins.
        func part(of lanes: Set<Lane.Name>) -> Start {
            var part = self
            part.bounds = bounds.filter { lanes.contains($0.key.lane) }
            return part
        }

        /// Records that the claim got as far as this.
        mutating func passed(_ key: Key, at readyAt: Int64) {
            bounds[key] = max(bounds[key] ?? .min, readyAt)
        }

        /// Records the jobs that the claim took.
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
