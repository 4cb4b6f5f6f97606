/// Runs a body and cancels it if it takes longer than `limit`.
///
/// - Throws: What `body` throws, usually `CancellationError` once the time is over. A body that ignores its
///   cancellation is still awaited.
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
