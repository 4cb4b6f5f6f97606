#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The findings of a search, counted by account and column.
struct SearchTallies: Sendable {
    /// Where something was found: an account, as its index among the targets, and a column.
    struct Place: Sendable, Hashable {
        let target: Int
        let column: String
    }

    private struct Tally: Sendable {
        private(set) var kinds: Set<Identifier.Kind> = []
        private(set) var count = 0

        mutating func add(_ kind: Identifier.Kind, _ times: Int) {
            kinds.insert(kind)
            count += times
        }

        mutating func add(_ other: Tally) {
            kinds.formUnion(other.kinds)
            count += other.count
        }
    }

    private var tallies: [Place: Tally] = [:]

    mutating func add(_ kind: Identifier.Kind, _ times: Int, at place: Place) {
        tallies[place, default: Tally()].add(kind, times)
    }

    /// Adds what was found in another table.
    mutating func add(_ other: SearchTallies) {
        for (place, tally) in other.tallies { tallies[place, default: Tally()].add(tally) }
    }

    /// The findings for each account's request, in order.
    func findings(of targets: [SearchTarget]) -> [UUID: [Situation.Finding]] {
        var findings: [UUID: [Situation.Finding]] = [:]
        for (place, tally) in tallies {
            findings[targets[place.target].request, default: []].append(
                Situation.Finding(column: place.column, identifiers: tally.kinds.sorted(), count: tally.count)
            )
        }
        return findings.mapValues { $0.sorted() }
    }
}
