/// Waits until something is so that no event tells of.
///
/// - Parameters:
///   - what: what is waited for, in the words of a sentence.
///   - within: how long at most.
///   - condition: looked at once a millisecond.
/// - Throws: ``TestSupportError`` that says what was waited for in vain, and what `condition` throws.
package func eventually(
    _ what: String,
    within: Duration = .seconds(20),
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + within
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw TestSupportError("waited \(within) in vain: \(what)") }
        try await Task.sleep(for: .milliseconds(1))
    }
}
