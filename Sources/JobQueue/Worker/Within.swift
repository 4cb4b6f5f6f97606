/// Runs a body and cancels it when it takes longer than `limit`.
///
/// - Throws: What `body` throws, which is as a rule `CancellationError` when the time is over; a body that does not
///   heed its cancellation is waited for.
package func within<Result: Sendable>(
    _ limit: Duration,
    _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    let work = Task { try await body() }
    let timer = Task {
        guard (try? await Task.sleep(for: limit, clock: .continuous)) != nil else { return }
        work.cancel()
    }
    defer { timer.cancel() }
    return try await withTaskCancellationHandler {
        try await work.value
    } onCancel: {
        work.cancel()
    }
}
