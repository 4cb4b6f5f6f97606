import HTTPCalls

/// An object, as a request names it in its path.
///
/// Storage takes keys with empty segments and with `.` and `..`, and people choose their keys. A gateway in between
/// makes the path of another object of such a key, and our key opens every object: no request names one. What stands in
/// a body arrives as it is.
package struct ObjectAddress: Sendable, Hashable {
    /// The bucket or the key has a segment that gateways take away.
    package struct Unaddressable: Error, Sendable, Hashable {}

    /// The path of the object below the service's base.
    let path: String

    /// Names an object by its bucket's id and its exact key.
    ///
    /// - Throws: ``Unaddressable``.
    package init(bucket: String, key: String) throws(Unaddressable) {
        guard let bucket = PercentEncoding.segment(bucket), let key = PercentEncoding.path(key) else {
            throw Unaddressable()
        }
        // The shorter route is deprecated, and a bucket may be called as what stands beside it: below `/object/` one
        // called `authenticated` would be read as this route, and its keys as other buckets' objects.
        path = "/object/authenticated/\(bucket)/\(key)"
    }
}
