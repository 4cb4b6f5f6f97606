/// Polls a condition until it holds, for conditions that no event announces.
///
/// - Parameters:
///   - what: the awaited state in words, for the error message.
///   - within: the longest time to wait.
///   - pause: the time between two evaluations of the condition.
///   - isolation: the caller's isolation.
///   - condition: evaluated repeatedly, in the caller's isolation.
/// - Throws: ``TestSupportError`` that names `what` when the time is up, and any error that `condition` throws.
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
