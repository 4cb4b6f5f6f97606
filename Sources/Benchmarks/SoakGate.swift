/// A condition that must hold at the end of a soak.
struct SoakGate: Sendable, Equatable {
    let name: String
    let holds: Bool
    /// The line that reports it.
    let line: String

    /// All gates, decided from the samples of a soak alone.
    ///
    /// - Parameters:
    ///   - samples: the samples, in order.
    ///   - rate: the number of jobs added per second.
    /// - Returns: The gates, whether they hold or not.
    static func all(_ samples: [SoakSample], rate: Int) -> [SoakGate] {
        guard samples.count >= 4 else {
            return [SoakGate(name: "samples", holds: false, line: "samples: \(samples.count), too few to judge by")]
        }
        // The process is warm in the second quarter; anything more in the last quarter is growth.
        let quarter = samples.count / 4
        let early = Array(samples.dropFirst(quarter).prefix(quarter))
        let late = Array(samples.suffix(quarter))
        func growth(_ name: String, _ most: Double, _ value: (SoakSample) -> Double) -> SoakGate {
            let before = Figure.median(early.map(value))
            let after = Figure.median(late.map(value))
            let holds = after <= before * most
            let change = "\(rounded(before)) → \(rounded(after))"
            return SoakGate(
                name: name,
                holds: holds,
                line: "\(name): \(change), at most × \(most): \(holds ? "holds" : "GROWS")"
            )
        }
        return [
            growth("hot table, bytes", 1.5) { Double($0.hotBytes) },
            growth("its indexes, bytes", 1.5) { Double($0.indexBytes) },
            growth("private memory, kB", 1.2) { $0.memory * 1024 },
            growth("WAL per job, bytes", 1.2) { $0.walPerJob },
            growth("commits per job", 1.2) { $0.commitsPerJob },
            backlog(late, rate), losses(samples),
        ]
    }

    /// A worker that keeps up has a backlog of less than one second; a check for growth alone would detect a backlog
    /// later.
    private static func backlog(_ late: [SoakSample], _ rate: Int) -> SoakGate {
        let waiting = Figure.median(late.map { Double($0.waiting) })
        let holds = waiting <= Double(rate)
        let said = "\(Int(waiting)), at most \(rate): \(holds ? "holds" : "FALLS BEHIND")"
        return SoakGate(name: "jobs waiting", holds: holds, line: "jobs waiting: \(said)")
    }

    private static func losses(_ samples: [SoakSample]) -> SoakGate {
        let lost = samples.map(\.lost).max() ?? 0
        return SoakGate(
            name: "jobs lost",
            holds: lost == 0,
            line: "jobs added that are neither waiting nor done: \(lost)"
        )
    }

    /// The number, with two decimals if it is small.
    static func rounded(_ value: Double) -> String {
        value < 100 ? "\((value * 100).rounded() / 100)" : "\(Int(value))"
    }
}
