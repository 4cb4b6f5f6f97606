import Logging
import Postgres

extension DeletionRun {
    /// Writes the evidence, and erases the user id and the identifiers, in one transaction.
    func writeReceipt() async throws -> StepResult {
        let receipt = try await services.pool.withConnection { connection in
            try await connection.transaction { connection -> Int64? in
                try journal.fenceFlushing(connection)
                let isOpen = try connection.first(
                    """
                    select finished_at is null
                    from accountctl.deletion_requests
                    where id = \(record.id)
                    for update
                    """,
                    as: Bool.self
                )
                guard isOpen == true else { return nil }
                try holdBrakesAndLookAgain(.receipt, on: connection)
                try journal.record(.receipt, .ok, StepFacts(), on: connection)
                let subject = services.vault.subject(user)
                let document = try ReceiptDocument.read(record.id, subject: subject, on: connection)
                let seal = try document.seal(with: services.vault.hashKey)
                let number = try connection.one(
                    """
                    insert into accountctl.deletion_receipts (request_id, subject_hash, subject_key_id, document, seal)
                    values (\(record.id), \(subject.bytes), \(subject.keyID), \(JSON(document)), \(seal))
                    returning number
                    """,
                    as: Int64.self
                )
                // Earlier, cancelled requests name the same account.
                try connection.execute(
                    """
                    update accountctl.deletion_requests
                    set user_id = null,
                        subject_hash = \(subject.bytes),
                        subject_key_id = \(subject.keyID),
                        reason = null,
                        sealed_identifiers = null,
                        sealing_key_id = null,
                        banned_until_before = null,
                        account_created_at = null,
                        cancelled_by = null,
                        situation = null,
                        situation_since = null,
                        state = case when id = \(record.id) then 'verified' else state end,
                        finished_at = coalesce(finished_at, clock_timestamp())
                    where user_id = \(user)
                    """
                )
                return number
            }
        }
        if let receipt {
            services.logger(for: record.id).info("an account is erased", metadata: ["receipt": "\(receipt)"])
        }
        return .recorded
    }
}
