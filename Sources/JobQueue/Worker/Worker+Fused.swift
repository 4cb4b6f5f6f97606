import Postgres

extension Worker {
    /// Ends a batch and claims the next in one statement.
    ///
    /// Nil when not all of the batch completed, or when the server refused a value: then the plain way is taken,
    /// where each part stands for itself.
    func fused(
        _ batch: [FinishedJob],
        _ request: JobQueue.ClaimRequest,
        _ lanes: [Lane],
        on connection: isolated Connection
    ) throws -> (written: Settlement.Written, claimed: PlainClaim)? {
        guard let completed = try OutcomeBatch(batch).allCompleted else { return nil }
        do {
            let (landed, claimed) = try queue.exchange(completed, lanes, request, on: connection)
            let lost = Set(completed.jobs).subtracting(landed)
            return (Settlement.Written(landed: landed, lost: lost), claimed)
        } catch let error as PostgresError where Settlement.isRefusal(error) {
            return nil
        }
    }
}
