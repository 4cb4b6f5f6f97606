/// Runs a body to its end although the surrounding task is cancelled: what a cancelled worker still owes the table.
///
/// An unstructured task, which cancellation does not reach. It is awaited at once, so that nothing outlives the caller;
/// Swift 6.4's cancellation shields will replace it.
func uncancelled<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) async -> Result {
    await Task { await body() }.value
}
