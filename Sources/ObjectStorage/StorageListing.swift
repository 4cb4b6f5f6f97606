/// One page of a bucket's objects.
package struct StorageListing: Sendable, Hashable {
    /// Full keys, spelled as a delete needs them.
    package let keys: [String]
    /// Where the next page begins; nil at the end.
    package let next: Cursor?

    /// The position at which a page begins.
    ///
    /// Objects that are deleted between two pages may make the older listing skip others, so a caller that deletes
    /// while listing must start over until nothing is left.
    package struct Cursor: Sendable, Hashable {
        enum Place: Sendable, Hashable {
            /// The service's own cursor.
            case mark(String)
            /// The older listing shows only one level: the folders still to list, and the offset within the first of
            /// them.
            case folders([String], offset: Int)
        }

        let place: Place
    }
}

/// The result of a delete-many call.
///
/// It says nothing of the requested keys: the service answers 200 and leaves out a key that was missing before, is
/// hidden by a policy, or is in a bucket that does not exist. The database shows what is left.
package struct StorageDeletion: Sendable, Hashable {
    /// Keys in the answer that were not requested; never seen, and worth an alarm.
    package let unrequested: [String]

    init(requested: [String], named: [String]) {
        let wanted = Set(requested)
        unrequested = named.filter { !wanted.contains($0) }
    }
}

/// A bucket as the service lists it.
package struct StorageBucket: Sendable, Hashable, Decodable {
    /// The bucket's id, by which it is addressed.
    package let id: String
}
