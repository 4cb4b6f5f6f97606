/// The limit keys of one kind for which jobs are set aside, as far as a worker knows, and from where to look for those
/// of each.
///
/// Behind an old snapshot the jobs that were let on stay in the way as dead rows, in front of those that wait still.
/// What others set aside meanwhile is found by a claim without bounds, as with ``ClaimBounds``, or by one that comes
/// short.
struct WaitingKeys: Sendable {
    /// The place of a job among those of its key that wait, which are let on in this order.
    struct Place: Sendable, Hashable, Comparable {
        let priority: Int16
        /// When the job became ready, in microseconds since 1970.
        let readyAt: Int64
        let id: Int64

        static func < (left: Place, right: Place) -> Bool {
            (left.priority, left.readyAt, left.id) < (right.priority, right.readyAt, right.id)
        }
    }

    /// More are not worth a claim's while: of the rest every claim without bounds learns anew.
    static let most = 1000

    private(set) var places: [ExactText: Place] = [:]

    /// A job of the key waits there, and perhaps others.
    mutating func waits(_ key: ExactText, at place: Place) {
        if let known = places[key] {
            places[key] = min(known, place)
        } else if places.count < Self.most {
            places[key] = place
        }
    }

    /// The job of that place was let on, and with it all in front of it.
    mutating func unparked(_ key: ExactText, at place: Place) {
        if let known = places[key] { places[key] = max(known, place) }
    }

    /// No job of the key was found although there was room.
    mutating func emptied(_ key: ExactText) {
        places[key] = nil
    }
}
