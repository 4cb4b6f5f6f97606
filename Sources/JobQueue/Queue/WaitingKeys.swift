/// The limit keys of one kind that have parked jobs, as far as a worker knows, and where to start looking for those of
/// each key.
///
/// Behind an old snapshot, unparked jobs stay in the index as dead rows in front of the jobs that still wait. Jobs that
/// other workers park meanwhile are found by a claim without bounds, as with ``ClaimBounds``, or by a claim that finds
/// too few.
struct WaitingKeys: Sendable {
    /// The position of a job among the waiting jobs of its key, which are unparked in this order.
    struct Place: Sendable, Hashable, Comparable {
        let priority: Int16
        /// When the job became ready, in microseconds since 1970.
        let readyAt: Int64
        let id: Int64

        static func < (left: Place, right: Place) -> Bool {
            (left.priority, left.readyAt, left.id) < (right.priority, right.readyAt, right.id)
        }
    }

    /// The most keys to remember; claims without bounds find the rest each time.
    static let most = 1000

    private(set) var places: [ExactText: Place] = [:]

    /// Records that a job of the key waits at a place, and perhaps more behind it.
    mutating func waits(_ key: ExactText, at place: Place) {
        if let known = places[key] {
            places[key] = min(known, place)
        } else if places.count < Self.most {
            places[key] = place
        }
    }

    /// Records that the job at that place was unparked, and all before it.
    mutating func unparked(_ key: ExactText, at place: Place) {
        if let known = places[key] { places[key] = max(known, place) }
    }

    /// Records that no job of the key was found although the key had room.
    mutating func emptied(_ key: ExactText) {
        places[key] = nil
    }
}
