/// Decides which of a claim's candidates it takes, and which it parks because their limit keys have no room.
struct KeyedChoice: Sendable {
    /// An available job of a kind with a limit per key.
    struct Candidate: Sendable, Hashable {
        let key: ExactText?
        let place: WaitingKeys.Place
    }

    private(set) var taken: [Int64] = []
    /// The candidates to park; each has a key.
    private(set) var parked: [Candidate] = []
    /// The readiness of the last of these jobs, by priority, in microseconds since 1970: a further search may start
    /// there.
    private(set) var passed: [Int16: Int64] = [:]

    /// Decides in the order of the candidates.
    ///
    /// - Parameters:
    ///   - candidates: the jobs that were examined.
    ///   - rooms: how many more jobs of each key may run.
    ///   - wanted: the most to take. Jobs of full keys are parked beyond that, too.
    init(_ candidates: [Candidate], rooms: [ExactText: Int64], wanted: Int) {
        var rooms = rooms
        for candidate in candidates {
            if let key = candidate.key, rooms[key, default: 0] <= 0 {
                parked.append(candidate)
            } else if taken.count < wanted {
                if let key = candidate.key { rooms[key, default: 0] -= 1 }
                taken.append(candidate.place.id)
            } else {
                continue
            }
            let place = candidate.place
            passed[place.priority] = max(passed[place.priority] ?? .min, place.readyAt)
        }
    }
}
