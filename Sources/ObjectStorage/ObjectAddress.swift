import HTTPCalls

/// The path by which a request names an object.
///
/// Storage accepts keys with empty segments and with `.` and `..`, and users choose their keys. A gateway in front
/// normalises such a path, which would then name another object, and our key has access to all objects. Therefore no
/// path may contain such a key; a key in a request body is not altered.
package struct ObjectAddress: Sendable, Hashable {
    /// The bucket or the key has a segment that gateways remove.
    package struct Unaddressable: Error, Sendable, Hashable {}

    /// The path of the object below the service's base.
    let path: String

    /// Creates the path of an object from its bucket's id and its exact key.
    ///
    /// - Throws: ``Unaddressable``.
    package init(bucket: String, key: String) throws(Unaddressable) {
        guard let bucket = PercentEncoding.segment(bucket), let key = PercentEncoding.path(key) else {
            throw Unaddressable()
        }
        // The shorter route is deprecated and ambiguous: for a bucket called `authenticated`, `/object/authenticated/…`
        // would be read as this route, and its keys as objects of other buckets.
        path = "/object/authenticated/\(bucket)/\(key)"
    }
}
