/// Waits until something is so that no event tells of.
///
/// - Parameters:
///   - what: what is waited for, in the words of a sentence.
///   - within: how long at most.
///   - pause: how long between two looks.
///   - isolation: the caller's.
///   - condition: is looked at again and again, where the caller runs.
/// - Throws: ``TestSupportError`` that says what was waited for in vain, and what `condition` throws.
package func eventually(
    _ what: String,
    within: Duration = .seconds(20),
    every pause: Duration = .milliseconds(1),
    isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + within
    while try await !condition() {
        guard ContinuousClock.now < deadline else { throw TestSupportError.inVain(what, within) }
        try await Task.sleep(for: pause)
    }
}
