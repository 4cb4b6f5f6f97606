/// An error in the set-up or support code of a test, described in words.
package struct TestSupportError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }

    static func inVain(_ what: String, _ limit: Duration) -> TestSupportError {
        TestSupportError("waited \(limit) in vain: \(what)")
    }
}
