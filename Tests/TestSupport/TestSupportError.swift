/// What went wrong in the set-up of a test, in words.
package struct TestSupportError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }

    static func inVain(_ what: String, _ limit: Duration) -> TestSupportError {
        TestSupportError("waited \(limit) in vain: \(what)")
    }
}
