/// One page of a bucket's objects.
package struct StorageListing: Sendable, Hashable {
    /// Full keys, in the spelling that deleting them needs.
    package let keys: [String]
    /// Where the next page begins; nil at the end.
    package let next: Cursor?

    /// Where a page begins.
    ///
    /// Objects that are deleted between two pages may make the older listing skip others: whoever deletes while listing
    /// lists again from the start until nothing is left.
    package struct Cursor: Sendable, Hashable {
        enum Place: Sendable, Hashable {
            /// The service's own mark.
            case mark(String)
            /// The older listing shows one level only: folders still to be seen, and how far the first one was.
            case folders([String], offset: Int)
        }

        let place: Place
    }
}

/// What a delete-many call did.
package struct StorageDeletion: Sendable, Hashable {
    /// Keys that were asked for and are named in the answer.
    package let deleted: [String]
    /// Keys that were asked for and are not: missing before, hidden by a policy, or in a bucket that does not exist.
    ///
    /// The service says 200 to all of these; the database knows which it was.
    package let notNamed: [String]
    /// Keys in the answer that nobody asked for; never seen, and worth an alarm.
    package let unrequested: [String]

    init(requested: [String], named: [String]) {
        let wanted = Set(requested)
        let done = Set(named)
        deleted = requested.filter(done.contains)
        notNamed = requested.filter { !done.contains($0) }
        unrequested = named.filter { !wanted.contains($0) }
    }
}

/// A bucket as the service lists it.
package struct StorageBucket: Sendable, Hashable, Decodable {
    /// The bucket's id, by which it is addressed.
    package let id: String
    /// The bucket's name.
    let name: String
}
