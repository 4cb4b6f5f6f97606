/// Runs a body to its end even if the surrounding task is cancelled: for what a cancelled worker still has to write.
///
/// Uses an unstructured task, which cancellation does not reach. It is awaited at once, so nothing outlives the caller;
/// Swift 6.4's cancellation shields will replace it.
func uncancelled<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) async -> Result {
    await Task { await body() }.value
}
